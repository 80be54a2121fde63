// Products of matrices on the GPUs of ranks, for the check of pairs.
#include "core/comm/agreement.h"
#include "modules/eigen/cuda/arrival.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"
#include "modules/eigen/cuda/ranks/panels.h"
#include "modules/eigen/cuda/ranks/shares.h"
#include "modules/eigen/cuda/ranks/standard_form.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/ranks/gpus.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

template <class T>
class GpuProducts final : public SpreadProducts<T> {
 public:
  GpuProducts(const Communicator& ranks, const Layout& layout) : exchange_(ranks), layout_(layout) {}

  void multiply_hermitian(const T* a, const T* x, IndexRange columns, T* y) override {
    const Communicator& ranks = exchange_.ranks();
    const std::int64_t n = layout_.n, count = mine(columns);
    cuda::DeviceArray<There<T>> a_there, x_there, y_there, room;
    const std::int64_t own = layout_.local_columns(ranks.rank());
    all_or_none(ranks, [&] {
      a_there = device_array<There<T>>(n * std::max<std::int64_t>(own, 1));
      x_there = sent(x, count);
      y_there = zeros<There<T>>(n * std::max<std::int64_t>(count, 1));
      room = device_array<There<T>>(panels_room(layout_));
      send_columns(n, own, a, n, a_there.get());
    });
    const Columns<There<T>> of_a{layout_, ranks.rank(), a_there.get()};
    There<T>*const to = y_there.get(), *const from = x_there.get();
    const auto send = [&](std::int64_t j, There<T>* panel) { return send_panel(exchange_, of_a, j, panel); };
    const auto multiply = [&](std::int64_t j, There<T>* panel) {
      const std::int64_t rows = n - j, width = of_a.width(j), below = rows - width;
      fill_upper_half(width, panel, rows);
      product(Op::none, Op::none, rows, count, width, 1, panel, rows, from + j, n, 1, to + j, n);
      if (below > 0) {
        product(Op::adjoint, Op::none, width, count, below, 1, panel + width, rows, from + j + width, n, 1, to + j, n);
      }
    };
    for_panels(0, layout_.block, n, room.get(), room.get() + n * layout_.block, send, multiply);
    fetch(y_there, n, count, y);
  }

  void multiply_adjoint(const T* x, const T* y, IndexRange columns, T* g) override {
    const Communicator& ranks = exchange_.ranks();
    const std::int64_t n = layout_.n, count = mine(columns);
    const std::int64_t most = shares_of(n, columns.count, ranks.size()).block;
    cuda::DeviceArray<There<T>> x_there, y_there, theirs, g_there;
    all_or_none(ranks, [&] {
      x_there = sent(x, count);
      y_there = sent(y, count);
      if (ranks.size() > 1) theirs = device_array<There<T>>(n * most);
      g_there = zeros<There<T>>(n * std::max<std::int64_t>(count, 1));
    });
    for (int r = 0; r < ranks.size(); ++r) {
      const IndexRange share = share_of({0, columns.count}, r, ranks.size());
      There<T>* const from = r == ranks.rank() ? x_there.get() : theirs.get();
      exchange_.broadcast(from, n * share.count, r);
      product(Op::adjoint, Op::none, share.count, count, n, 1, from, n, y_there.get(), n, 0,
              g_there.get() + share.first, n);
    }
    fetch(g_there, n, count, g);
  }

 private:
  std::int64_t mine(IndexRange columns) const {
    return share_of(columns, exchange_.ranks().rank(), exchange_.ranks().size()).count;
  }
  cuda::DeviceArray<There<T>> sent(const T* x, std::int64_t count) const {
    auto out = device_array<There<T>>(layout_.n * std::max<std::int64_t>(count, 1));
    send_columns(layout_.n, count, x, layout_.n, out.get());
    return out;
  }
  static void fetch(const cuda::DeviceArray<There<T>>& from, std::int64_t n, std::int64_t count, T* to) {
    if (count > 0) cuda_backend().copy_out(to, from.get(), std::size_t(n * count) * sizeof(T));
  }

  Exchange exchange_;
  Layout layout_;
};

}  // namespace

template <class T>
std::unique_ptr<SpreadProducts<T>> products_on_gpus(const Communicator& ranks, const Layout& layout) {
  return std::make_unique<GpuProducts<T>>(ranks, layout);
}

template <class T>
Accuracy check_on_gpu(const std::vector<T>& a, const std::vector<T>* b, Pairs<T>& pairs) {
  const std::shared_ptr<const Communicator> alone = single_process();
  const Layout layout = columns_on_gpus(pairs.n, 1);
  const auto products = products_on_gpus<T>(*alone, layout);
  SpreadPairs<T> spread;
  spread.vectors = std::move(pairs.vectors);
  spread.layout = shares_of(pairs.n, pairs.range.count, 1);
  spread.pairs = std::move(pairs);
  const Accuracy found = check_on_ranks(*alone, layout, *products, a, b, spread);
  pairs = std::move(spread.pairs);
  pairs.vectors = std::move(spread.vectors);
  return found;
}

template Accuracy check_on_gpu(const std::vector<double>&, const std::vector<double>*, Pairs<double>&);
template Accuracy check_on_gpu(const std::vector<std::complex<double>>&, const std::vector<std::complex<double>>*,
                               Pairs<std::complex<double>>&);
template std::unique_ptr<SpreadProducts<double>> products_on_gpus(const Communicator&, const Layout&);
template std::unique_ptr<SpreadProducts<std::complex<double>>> products_on_gpus(const Communicator&, const Layout&);

}  // namespace quadrille::eigen
