// The stencil of a coarse operator on a CPU.
#include "solvers/multigrid/stencil.h"

#include "core/backend/of_backend.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/cuda/device_multigrid.h"
#include "solvers/multigrid/dense_kernels.h"
#include "solvers/multigrid/matrix_inverse.h"

#include <algorithm>
#include <array>
#include <vector>

namespace quadrille::multigrid {
namespace {

constexpr std::array<std::int32_t, stencil_size> every_matrix = {0, 1, 2, 3, 4, 5, 6, 7, 8};

template <class T>
class StencilOnHost final : public Stencil {
 public:
  explicit StencilOnHost(const FieldDesc& coarse)
      : desc_(coarse),
        rows_(coarse.components() / 2),
        sites_(desc_),
        kernels_(dense_kernels<T>()),
        matrices_(std::size_t(coarse.lattice->volume() * stencil_size * 2) * std::size_t(rows_ * rows_)),
        odd_(matrices_.size() / (2 * stencil_size)),
        neighbours_(neighbours_of(*coarse.lattice)),
        scratch_(std::size_t(team::threads())) {}

  void project(const Transfer& transfer, std::span<const Field* const> images, int colour, int first) override {
    transfer.project(images, colour, view(), first);
  }
  bool invert_odd_sites() override;
  void run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const override;
  void multiply_odd(OperandList list) const override;

 private:
  using Numbers = std::vector<T, AlignedAllocator<T>>;

  StencilMatrices<T> view() const { return {const_cast<T*>(matrices_.data()), rows_}; }
  std::int64_t half() const { return desc_.lattice->half_volume(); }
  T* scratch(int thread) const;
  template <class Body>
  void for_sites(Body&& body) const {
    if (int(scratch_.size()) < team::threads()) scratch_.resize(std::size_t(team::threads()));
    team::share(half(), team::few_pieces, [&](int thread, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(thread, i);
    });
  }

  FieldDesc desc_;
  int rows_;
  ChiralSites<T> sites_;
  DenseKernels<T> kernels_;
  Numbers matrices_, odd_;                ///< odd_: A_oo
  std::vector<std::int32_t> neighbours_;  ///< [aggregate][direction]: even-odd index
  mutable std::vector<Numbers> scratch_;
};

template <class T>
bool StencilOnHost<T>::invert_odd_sites() {
  const std::size_t matrix = std::size_t(2 * rows_ * rows_);
  std::vector<std::uint8_t> singular(std::size_t(half()), 0);
  team_for_uneven(half(), [&](std::int64_t i) {
    T* own = view().column(half() + i, 0, 0);
    T* kept = odd_.data() + std::size_t(i) * matrix;
    std::copy_n(own, matrix, kept);
    if (!invert(own, rows_)) singular[std::size_t(i)] = 1;
    Numbers product(std::size_t(2 * rows_ * most_at_once));
    for (int column = 0; column < 8 * rows_; column += most_at_once) {
      T* hop = view().column(half() + i, 1, column);
      ColumnSum<T> call{.matrices = own,
                        .chosen = every_matrix.data(),
                        .count = 1,
                        .columns = rows_,
                        .rows = rows_,
                        .subtract = true,
                        .rhs = most_at_once};
      for (int r = 0; r < most_at_once; ++r) {
        call.x[r] = hop + 2 * rows_ * r;
        call.y[r] = product.data() + 2 * rows_ * r;
      }
      kernels_.column_sum(call);
      std::copy(product.begin(), product.end(), hop);
    }
  });
  return std::find(singular.begin(), singular.end(), 1) == singular.end();
}

template <class T>
T* StencilOnHost<T>::scratch(int thread) const {
  Numbers& mine = scratch_[std::size_t(thread)];
  mine.resize(std::size_t(2 * rows_ * stencil_size * most_at_once));
  return mine.data();
}

template <class T>
void StencilOnHost<T>::run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const {
  const std::int64_t width = 2 * rows_;
  for (std::size_t begin = 0; begin < calls.size(); begin += most_at_once) {
    const auto some = calls.subspan(begin, std::min<std::size_t>(most_at_once, calls.size() - begin));
    for_sites([&](int thread, std::int64_t i) {
      const std::int64_t a = std::int64_t(p) * half() + i;
      ColumnSum<T> call{.matrices = view().column(a, 0, 0),
                        .chosen = every_matrix.data() + first,
                        .count = count,
                        .columns = rows_,
                        .rows = rows_,
                        .subtract = subtract,
                        .rhs = int(some.size())};
      T* packed = scratch(thread);
      for (std::size_t r = 0; r < some.size(); ++r) {
        call.x[r] = packed;
        for (int m = first; m < first + count; ++m, packed += width) {
          const T* from = m == 0 ? sites_.site(*some[r].own, p, i)
                                 : sites_.site(*some[r].around, opposite(p), neighbours_[std::size_t(a * 8 + m - 1)]);
          std::copy_n(from, width, packed);
        }
        call.z[r] = some[r].z != nullptr ? sites_.site(*some[r].z, p, i) : nullptr;
        call.y[r] = sites_.site(*some[r].y, p, i);
      }
      kernels_.column_sum(call);
    });
  }
}

template <class T>
void StencilOnHost<T>::multiply_odd(OperandList list) const {
  const std::int64_t width = 2 * rows_;
  for (std::size_t begin = 0; begin < list.size(); begin += most_at_once) {
    const OperandList some = list.subspan(begin, std::min<std::size_t>(most_at_once, list.size() - begin));
    for_sites([&](int thread, std::int64_t i) {
      ColumnSum<T> call{.matrices = odd_.data() + i * width * rows_,
                        .chosen = every_matrix.data(),
                        .count = 1,
                        .columns = rows_,
                        .rows = rows_,
                        .rhs = int(some.size())};
      T* packed = scratch(thread);
      for (std::size_t r = 0; r < some.size(); ++r, packed += width) {
        std::copy_n(sites_.site(*some[r].x, Parity::Odd, i), width, packed);
        call.x[r] = packed;
        call.y[r] = sites_.site(*some[r].y, Parity::Odd, i);
      }
      kernels_.column_sum(call);
    });
  }
}

}  // namespace

std::unique_ptr<Stencil> make_stencil(const FieldDesc& coarse) {
  if (!coarse.backend->host_memory()) {
    return with_cuda<std::unique_ptr<Stencil>>([&](auto) { return make_device_stencil(coarse); });
  }
  if (coarse.precision == Precision::Double) return std::make_unique<StencilOnHost<double>>(coarse);
  return std::make_unique<StencilOnHost<float>>(coarse);
}

std::vector<std::int32_t> neighbours_of(const Lattice& lattice) {
  std::vector<std::int32_t> neighbours;
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    for (std::int64_t i = 0; i < lattice.half_volume(); ++i) {
      for (int direction = 0; direction < 8; ++direction) {
        Dims x = lattice.coordinates(p, i);
        const std::size_t mu = std::size_t(direction % 4);
        const int extent = lattice.dims()[mu];
        x[mu] = (x[mu] + (direction < 4 ? 1 : extent - 1)) % extent;
        neighbours.push_back(std::int32_t(lattice.even_odd_index(x)));
      }
    }
  }
  return neighbours;
}

}  // namespace quadrille::multigrid
