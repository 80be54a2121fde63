#include "solvers/multigrid/coarse_operator.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/dense_kernels.h"
#include "solvers/multigrid/matrix_inverse.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <vector>

namespace quadrille::multigrid {
namespace {

constexpr int stencil = StencilMatrices<float>::stencil;
constexpr std::array<std::int32_t, stencil> every_matrix = {0, 1, 2, 3, 4, 5, 6, 7, 8};

/// A part of an operator on the sites of one parity: y = z +- (M_0 own + sum over directions M_d around(x + d)).
struct StencilCall {
  Field* y;
  const Field* own;     ///< of this parity
  const Field* around;  ///< of the other one
  const Field* z = nullptr;
};

template <class T>
class CoarseSystem final : public LevelSystem {
 public:
  CoarseSystem(const LinearOperator& a, const Transfer& transfer);

  const LinearOperator& full() const override { return full_; }
  const LinearOperator& reduced() const override { return reduced_; }
  void prepare_each(OperandList list) const override;
  void reconstruct_each(OperandList list) const override;
  double bytes() const override { return double((matrices_.size() + odd_.size()) * sizeof(T)); }

 private:
  using Numbers = std::vector<T, AlignedAllocator<T>>;
  using Apply = std::function<void(OperandList)>;

  class Operator final : public LinearOperator {
   public:
    Operator(const FieldDesc& desc, double flops, Apply apply) : desc_(desc), flops_(flops), apply_(std::move(apply)) {}
    const FieldDesc& field_desc() const override { return desc_; }
    void apply(Field& y, const Field& x, Dagger dagger) const override { apply_each(only({&y, &x}), dagger); }
    void apply_each(OperandList list, Dagger dagger) const override {
      if (dagger == Dagger::Yes) throw Error(ErrorCode::internal, "a coarse operator has no dagger");
      apply_(list);
    }
    double flops() const override { return flops_; }

   private:
    FieldDesc desc_;
    double flops_;
    Apply apply_;
  };

  void apply_full(OperandList list) const;
  void apply_reduced(OperandList list) const;
  /// Columns of P through a, chirality by chirality and colour by colour.
  void probe(const LinearOperator& a, const Transfer& transfer);
  /// Of odd sites: A_oo is kept, its inverse and -A_oo^-1 H_oe stand in the stencil.
  void invert_odd_sites();
  void connect();

  StencilMatrices<T> view() const { return {const_cast<T*>(matrices_.data()), rows_}; }
  std::int64_t half() const { return desc_.lattice->half_volume(); }
  /// The calls on all sites of a parity, with the matrices first ... first + count - 1 of the stencil.
  void run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const;
  /// y = A_oo x on odd sites; y may be x.
  void multiply_odd(OperandList list) const;
  T* scratch(int thread) const;
  template <class Body>
  void for_sites(Body&& body) const {
    if (int(scratch_.size()) < team::threads()) scratch_.resize(std::size_t(team::threads()));
    team::share(half(), team::few_pieces, [&](int thread, std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) body(thread, i);
    });
  }

  FieldDesc desc_, even_desc_, odd_desc_;
  int rows_;
  ChiralSites<T> sites_;
  DenseKernels<T> kernels_;
  Numbers matrices_, odd_;                ///< odd_: A_oo
  std::vector<std::int32_t> neighbours_;  ///< [aggregate][direction]: even-odd index
  mutable std::vector<Numbers> scratch_;
  mutable ScratchFields other_, full_other_;
  Operator full_, reduced_;
};

FieldDesc part_of(FieldDesc desc, Subset subset) {
  desc.subset = subset;
  return desc;
}

/// Of so many products of matrices and vectors.
double flops_of(const FieldDesc& desc, double matrices) {
  const double rows = desc.components() / 2;
  return 8 * rows * rows * matrices * double(desc.lattice->half_volume());
}

template <class T>
CoarseSystem<T>::CoarseSystem(const LinearOperator& a, const Transfer& transfer)
    : desc_(transfer.coarse_desc()),
      even_desc_(part_of(desc_, Subset::Even)),
      odd_desc_(part_of(desc_, Subset::Odd)),
      rows_(2 * transfer.vectors()),
      sites_(desc_),
      kernels_(dense_kernels<T>()),
      matrices_(std::size_t(transfer.aggregates().count() * stencil * 2) * std::size_t(rows_ * rows_)),
      odd_(matrices_.size() / (2 * stencil)),
      scratch_(std::size_t(team::threads())),
      other_(odd_desc_),
      full_other_(odd_desc_),
      full_(desc_, flops_of(desc_, 2 * stencil), [this](OperandList list) { apply_full(list); }),
      reduced_(even_desc_, flops_of(desc_, 2 * stencil - 1), [this](OperandList list) { apply_reduced(list); }) {
  connect();
  probe(a, transfer);
  invert_odd_sites();
}

template <class T>
void CoarseSystem<T>::connect() {
  const Lattice& lattice = *desc_.lattice;
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    for (std::int64_t i = 0; i < half(); ++i) {
      for (int direction = 0; direction < 8; ++direction) {
        Dims x = lattice.coordinates(p, i);
        const std::size_t mu = std::size_t(direction % 4);
        const int extent = lattice.dims()[mu];
        x[mu] = (x[mu] + (direction < 4 ? 1 : extent - 1)) % extent;
        neighbours_.push_back(std::int32_t(lattice.even_odd_index(x)));
      }
    }
  }
}

template <class T>
void CoarseSystem<T>::probe(const LinearOperator& a, const Transfer& transfer) {
  std::vector<Field> columns, images;
  std::vector<const Field*> image;
  std::vector<Operands> calls;
  for (int r = 0; r < most_at_once; ++r) {
    columns.emplace_back(transfer.fine_desc());
    images.emplace_back(transfer.fine_desc());
  }
  for (int r = 0; r < most_at_once; ++r) {
    calls.push_back({&images[std::size_t(r)], &columns[std::size_t(r)]});
    image.push_back(&images[std::size_t(r)]);
  }
  for (int chirality = 0; chirality < 2; ++chirality) {
    for (int k = 0; k < transfer.vectors(); k += most_at_once) {
      for (int colour = 0; colour < Aggregates::colours; ++colour) {
        for (int r = 0; r < most_at_once; ++r) transfer.column(columns[std::size_t(r)], k + r, chirality, colour);
        a.apply_each(calls, Dagger::No);
        transfer.project(image, colour, view(), chirality * transfer.vectors() + k);
      }
    }
  }
}

template <class T>
void CoarseSystem<T>::invert_odd_sites() {
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
                        .conjugate = false,
                        .subtract = true,
                        .rhs = most_at_once,
                        .x = {},
                        .z = {},
                        .y = {}};
      for (int r = 0; r < most_at_once; ++r) {
        call.x[r] = hop + 2 * rows_ * r;
        call.y[r] = product.data() + 2 * rows_ * r;
      }
      kernels_.column_sum(call);
      std::copy(product.begin(), product.end(), hop);
    }
  });
  if (std::find(singular.begin(), singular.end(), 1) != singular.end()) {
    throw Error(ErrorCode::numerical, "the matrix of a site of a coarse operator has no inverse");
  }
}

template <class T>
T* CoarseSystem<T>::scratch(int thread) const {
  Numbers& mine = scratch_[std::size_t(thread)];
  mine.resize(std::size_t(2 * rows_ * stencil * most_at_once));
  return mine.data();
}

template <class T>
void CoarseSystem<T>::run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const {
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
                        .conjugate = false,
                        .subtract = subtract,
                        .rhs = int(some.size()),
                        .x = {},
                        .z = {},
                        .y = {}};
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
void CoarseSystem<T>::multiply_odd(OperandList list) const {
  const std::int64_t width = 2 * rows_;
  for (std::size_t begin = 0; begin < list.size(); begin += most_at_once) {
    const OperandList some = list.subspan(begin, std::min<std::size_t>(most_at_once, list.size() - begin));
    for_sites([&](int thread, std::int64_t i) {
      ColumnSum<T> call{.matrices = odd_.data() + i * width * rows_,
                        .chosen = every_matrix.data(),
                        .count = 1,
                        .columns = rows_,
                        .rows = rows_,
                        .conjugate = false,
                        .subtract = false,
                        .rhs = int(some.size()),
                        .x = {},
                        .z = {},
                        .y = {}};
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

/// The calls of a list.
template <class Make>
std::vector<StencilCall> stencil_calls(OperandList list, Make&& make) {
  std::vector<StencilCall> calls;
  for (std::size_t i = 0; i < list.size(); ++i) calls.push_back(make(i));
  return calls;
}

template <class T>
void CoarseSystem<T>::apply_full(OperandList list) const {
  const auto other = [&](std::size_t i) { return &full_other_[i]; };
  // w = x_o + A_oo^-1 H_oe x_e, y_o = A_oo w, y_e = A_ee x_e + H_eo x_o
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{other(i), list[i].x, list[i].x, list[i].x};
                    }),
      Parity::Odd, 1, 8, true);
  multiply_odd(operands_for(list, [&](std::size_t i) { return Operands{list[i].y, other(i)}; }));
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{list[i].y, list[i].x, list[i].x};
                    }),
      Parity::Even, 0, stencil, false);
}

template <class T>
void CoarseSystem<T>::apply_reduced(OperandList list) const {
  const auto other = [&](std::size_t i) { return &other_[i]; };
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{other(i), nullptr, list[i].x};
                    }),
      Parity::Odd, 1, 8, false);
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{list[i].y, list[i].x, other(i)};
                    }),
      Parity::Even, 0, stencil, false);
}

template <class T>
void CoarseSystem<T>::prepare_each(OperandList list) const {
  const auto other = [&](std::size_t i) { return &other_[i]; };
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{other(i), list[i].x, nullptr};
                    }),
      Parity::Odd, 0, 1, false);
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{list[i].y, nullptr, other(i), list[i].x};
                    }),
      Parity::Even, 1, 8, true);
}

template <class T>
void CoarseSystem<T>::reconstruct_each(OperandList list) const {
  for (const Operands& call : list) {
    Field even = call.y->parity(Parity::Even);
    blas::copy(even, *call.x);
  }
  run(stencil_calls(list,
                    [&](std::size_t i) {
                      return StencilCall{list[i].y, list[i].z, list[i].x};
                    }),
      Parity::Odd, 0, stencil, false);
}

}  // namespace

std::unique_ptr<LevelSystem> make_coarse_system(const LinearOperator& a, const Transfer& transfer) {
  require_same(a.field_desc(), transfer.fine_desc(), "an operator and the test vectors of its coarse one");
  if (transfer.coarse_desc().precision == Precision::Double) return std::make_unique<CoarseSystem<double>>(a, transfer);
  return std::make_unique<CoarseSystem<float>>(a, transfer);
}

double coarse_system_bytes(const Transfer& transfer) {
  const double rows = 2 * transfer.vectors();
  return (stencil + 0.5) * 2 * rows * rows * double(transfer.aggregates().count()) *
         double(number_bytes(transfer.coarse_desc().precision));
}

}  // namespace quadrille::multigrid
