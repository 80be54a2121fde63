#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/cuda/arrival.h"
#include "modules/eigen/cuda/chain.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/ranks/band.h"
#include "modules/eigen/cuda/ranks/exchange.h"
#include "modules/eigen/cuda/ranks/shares.h"
#include "modules/eigen/cuda/ranks/standard_form.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/ranks/gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

/// This rank's columns on its GPU, divided by 2^exponent.
template <class T>
struct ColumnsThere {
  cuda::DeviceArray<There<T>> elements;
  Columns<There<T>> columns;
  int exponent = 0;
};

/// The first element, by columns, that is not finite: its row + n column; the same on all ranks.
template <class Number>
std::int64_t first_not_finite(const Communicator& ranks, const Columns<Number>& a) {
  const std::int64_t n = a.n();
  std::int64_t first = n * n;
  a.for_blocks(0, [&](std::int64_t j) {
    if (first < n * n) return;
    const std::int64_t place = eigen::first_not_finite(n - j, a.width(j), a.at(j, j), n);
    if (place >= 0) first = j + place % (n - j) + n * (j + place / (n - j));
  });
  double earliest = -double(first);
  ranks.maximum(&earliest, 1);
  return std::int64_t(-earliest);
}

template <class Number>
int scale_to_one(const Communicator& ranks, const Columns<Number>& a, const std::string& name) {
  double largest = 0;
  a.for_blocks(0, [&](std::int64_t j) {
    const double here = largest_of_lower(a.n() - j, a.width(j), a.at(j, j), a.n());
    if (!(here <= largest)) largest = here;
  });
  ranks.maximum(&largest, 1);
  if (!std::isfinite(largest)) {
    const std::int64_t place = first_not_finite(ranks, a);
    refuse_element(name, place % a.n(), place / a.n(), Triangle::lower);
  }
  const int exponent = even_exponent(largest);
  a.for_blocks(0, [&](std::int64_t j) { divide_lower_half(a.n() - j, a.width(j), a.at(j, j), a.n(), exponent); });
  return exponent;
}

template <class T>
ColumnsThere<T> sent_columns(const Communicator& ranks, const Layout& layout, const T* part, const std::string& name) {
  ColumnsThere<T> out;
  const std::int64_t n = layout.n, count = layout.local_columns(ranks.rank());
  all_or_none(ranks, [&] {
    out.elements = device_array<There<T>>(n * std::max<std::int64_t>(count, 1));
    send_columns(n, count, part, n, out.elements.get());
  });
  out.columns = {layout, ranks.rank(), out.elements.get()};
  out.exponent = scale_to_one(ranks, out.columns, name);
  return out;
}

template <class T>
cuda::DeviceArray<There<T>> room_for_panels(const Communicator& ranks, const Layout& layout) {
  cuda::DeviceArray<There<T>> room;
  all_or_none(ranks, [&] { room = device_array<There<T>>(panels_room(layout)); });
  return room;
}

/// Ranks divide and conquer on their own: all must find the same eigenvalues.
void require_same_values(const Communicator& ranks, const std::vector<double>& mine) {
  std::vector<double> first = mine;
  ranks.broadcast(first.data(), first.size() * sizeof(double), 0);
  double differs = std::memcmp(first.data(), mine.data(), mine.size() * sizeof(double)) != 0 ? 1 : 0;
  ranks.maximum(&differs, 1);
  if (differs == 0) return;
  throw Error(ErrorCode::unsupported,
              "the GPUs of the ranks find different eigenvalues: an eigenproblem takes GPUs of one kind");
}

void check_layout(const Communicator& ranks, const Layout& layout) {
  const bool is_right = layout.n >= 1 && layout.rows == 1 && layout.columns == ranks.size() &&
                        layout.block % bandwidth == 0 && layout.block >= bandwidth && layout.block <= widest_gpu_block;
  if (is_right) return;
  throw Error(
      ErrorCode::invalid_input,
      fmt::format("a matrix of {} rows in blocks of {} on {} x {} GPUs: it must have a row, whole columns, in "
                  "blocks of a multiple of {} up to {}, and be on all {} ranks",
                  layout.n, layout.block, layout.rows, layout.columns, bandwidth, widest_gpu_block, ranks.size()));
}

template <class T>
double columns_bytes(const Layout& layout) {
  return sizeof(T) * (double(layout.n) * double(layout.local_columns(0)));
}

}  // namespace

template <class T>
struct GpuFactor<T>::Data {
  Layout layout;
  ColumnsThere<T> l;  ///< B is 2^exponent L L^H
  Phase made;
};

template <class T>
GpuFactor<T>::GpuFactor(const Communicator& ranks, const Layout& layout, const T* b) {
  check_layout(ranks, layout);
  data_ = std::make_unique<Data>(Data{layout, sent_columns(ranks, layout, b, "B"), {}});
  Exchange exchange(ranks);
  const auto room = room_for_panels<T>(ranks, layout);
  Phases phases({}, 0);
  phases.run(phase::cholesky, cube<T>(layout.n, 1.0 / 3), [&] {
    const std::int64_t minor = factor_cholesky(exchange, data_->l.columns, room.get());
    if (minor == 0) return;
    throw Error(ErrorCode::numerical,
                fmt::format("B is not positive definite: its leading {} x {} submatrix is not", minor, minor));
  });
  data_->made = phases.take().front();
}
template <class T>
GpuFactor<T>::~GpuFactor() = default;
template <class T>
GpuFactor<T>::GpuFactor(GpuFactor&&) noexcept = default;
template <class T>
const Phase& GpuFactor<T>::made() const {
  return data_->made;
}

template <class T>
double bytes_on_gpu(const Layout& layout, const Fraction& fraction, bool factor_too) {
  const std::int64_t share = shares_of(layout.n, fraction.most(layout.n), layout.columns).block;
  const double room = sizeof(T) * double(panels_room(layout));
  return chain_bytes<T>(layout.n, fraction, share, (factor_too ? 2 : 1) * columns_bytes<T>(layout) + room,
                        band_bytes<There<T>>(layout));
}

template <class T>
void require_gpus(const Communicator& ranks, const Layout& layout, const Fraction& fraction, bool factor_too) {
  if (layout.columns > most_band_ranks) {
    throw Error(ErrorCode::unsupported,
                fmt::format("an eigenproblem on {} GPUs: at most {} can share one", layout.columns, most_band_ranks));
  }
  const double bytes = bytes_on_gpu<T>(layout, fraction, factor_too);
  const int sharing = ranks_beside(ranks).on_gpu;
  all_or_none(ranks, [&] {
    require_limits<T>(layout.n, {processors(), shared_memory_limit()});
    const double free = double(cuda::available_bytes());
    if (bytes * sharing <= free) return;
    throw NotEnoughMemory(fmt::format(
        "not enough memory: the eigenproblem of {} rows with {} vectors on {} GPUs needs {} on each{}, {} are free "
        "there; use more GPUs, ask for eigenvalues only, or use --backend cpu",
        layout.n, fraction.most(layout.n), layout.columns, bytes_text(bytes),
        sharing > 1 ? fmt::format(" for each of its {} ranks", sharing) : "", bytes_text(free)));
  });
}

int gpu_ranks_of_host(const Communicator& ranks) { return ranks_beside(ranks).on_host; }

template <class T>
SpreadPairs<T> solve_on_gpus(const GpuProblem<T>& problem) {
  const Communicator& ranks = problem.ranks;
  const Layout& layout = problem.layout;
  const std::int64_t n = layout.n;
  check_layout(ranks, layout);
  if (problem.b != nullptr && problem.b->data().layout != layout) {
    throw Error(ErrorCode::invalid_input, "the factor of B does not lie on the ranks as A does");
  }
  problem.fraction.check(n);
  require_gpus<T>(ranks, layout, problem.fraction, false);
  Exchange exchange(ranks);
  const auto room = room_for_panels<T>(ranks, layout);
  const ColumnsThere<T> a = sent_columns(ranks, layout, problem.a, "A");
  const ColumnsThere<T>* const factor = problem.b != nullptr ? &problem.b->data().l : nullptr;
  Chain<T> chain{n, problem.fraction, problem.progress, ranks.rank(), ranks.size(), a.exponent};
  chain.exchange = [&](const std::vector<DevicePiece>& pieces) { exchange.share(pieces); };
  chain.to_band = [&] {
    fill_upper_half(exchange, a.columns, room.get());
    return reduce_to_band(exchange, a.columns);
  };
  chain.share = [&](IndexRange wanted) { return share_of(wanted, ranks.rank(), ranks.size()); };
  chain.apply_q1 = [&](const There<T>* tau, There<T>* x, std::int64_t count) {
    apply_q1(exchange, a.columns, tau, x, count, room.get());
  };
  chain.together = [&](const std::function<void()>& step) { all_or_none(ranks, step); };
  SpreadPairs<T> out;
  RoomOfHost<T> vectors;
  chain.count_known = [&](std::int64_t count) { vectors.begin(n * count); };
  if (factor != nullptr) {
    chain.to_standard = [&] {
      to_standard_form(exchange, a.columns, factor->columns, room.get());
      return scale_to_one(ranks, a.columns, "L^-1 A L^-H") - factor->exponent;
    };
    chain.to_general = [&](There<T>* x, std::int64_t count) {
      to_general_vectors(exchange, factor->columns, x, count, room.get());
    };
    chain.scale = std::ldexp(1.0, -factor->exponent / 2);
  }
  ChainEnd<T> end = run_chain(chain);
  require_same_values(ranks, end.found.spectrum);
  out.layout = shares_of(n, end.found.range.count, ranks.size());
  all_or_none(ranks, [&] {
    out.vectors = vectors.take();
    if (!out.vectors.empty()) {
      cuda_backend().copy_out(out.vectors.data(), end.vectors.get(), out.vectors.size() * sizeof(T));
    }
  });
  out.pairs = std::move(end.found);
  return out;
}

#define QUADRILLE_ON_GPUS(T)                                             \
  template class GpuFactor<T>;                                           \
  template SpreadPairs<T> solve_on_gpus(const GpuProblem<T>&);           \
  template double bytes_on_gpu<T>(const Layout&, const Fraction&, bool); \
  template void require_gpus<T>(const Communicator&, const Layout&, const Fraction&, bool);
QUADRILLE_ON_GPUS(double)
QUADRILLE_ON_GPUS(std::complex<double>)
#undef QUADRILLE_ON_GPUS

}  // namespace quadrille::eigen
