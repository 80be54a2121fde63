#include "solvers/multigrid/coarse_operator.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "solvers/multigrid/stencil.h"

#include <functional>
#include <vector>

namespace quadrille::multigrid {
namespace {

constexpr int columns_at_once = 4;

class CoarseSystem final : public LevelSystem {
 public:
  CoarseSystem(const LinearOperator& a, const Transfer& transfer);

  const LinearOperator& full() const override { return full_; }
  const LinearOperator& reduced() const override { return reduced_; }
  void prepare_each(OperandList list) const override;
  void reconstruct_each(OperandList list) const override;
  double bytes() const override { return bytes_; }

 private:
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
  /// stencil_->run() of make(i) for each of a list.
  template <class Make>
  void run(OperandList list, Parity p, int first, int count, bool subtract, Make&& make) const;
  /// Columns of P through a, chirality by chirality and colour by colour.
  void probe(const LinearOperator& a, const Transfer& transfer);

  FieldDesc desc_;
  double bytes_;
  std::unique_ptr<Stencil> stencil_;
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

CoarseSystem::CoarseSystem(const LinearOperator& a, const Transfer& transfer)
    : desc_(transfer.coarse_desc()),
      bytes_(coarse_system_bytes(desc_)),
      stencil_(make_stencil(desc_)),
      other_(part_of(desc_, Subset::Odd)),
      full_other_(part_of(desc_, Subset::Odd)),
      full_(desc_, flops_of(desc_, 2 * stencil_size), [this](OperandList list) { apply_full(list); }),
      reduced_(part_of(desc_, Subset::Even), flops_of(desc_, 2 * stencil_size - 1),
               [this](OperandList list) { apply_reduced(list); }) {
  probe(a, transfer);
  if (!stencil_->invert_odd_sites()) {
    throw Error(ErrorCode::numerical, "the matrix of a site of a coarse operator has no inverse");
  }
}

void CoarseSystem::probe(const LinearOperator& a, const Transfer& transfer) {
  std::vector<Field> columns, images;
  std::vector<const Field*> image;
  std::vector<Operands> calls;
  for (int r = 0; r < columns_at_once; ++r) {
    columns.emplace_back(transfer.fine_desc());
    images.emplace_back(transfer.fine_desc());
  }
  for (int r = 0; r < columns_at_once; ++r) {
    calls.push_back({&images[std::size_t(r)], &columns[std::size_t(r)]});
    image.push_back(&images[std::size_t(r)]);
  }
  for (int chirality = 0; chirality < 2; ++chirality) {
    for (int k = 0; k < transfer.vectors(); k += columns_at_once) {
      for (int colour = 0; colour < Aggregates::colours; ++colour) {
        for (int r = 0; r < columns_at_once; ++r) transfer.column(columns[std::size_t(r)], k + r, chirality, colour);
        a.apply_each(calls, Dagger::No);
        stencil_->project(transfer, image, colour, chirality * transfer.vectors() + k);
      }
    }
  }
}

template <class Make>
void CoarseSystem::run(OperandList list, Parity p, int first, int count, bool subtract, Make&& make) const {
  std::vector<StencilCall> calls;
  for (std::size_t i = 0; i < list.size(); ++i) calls.push_back(make(i));
  stencil_->run(calls, p, first, count, subtract);
}

void CoarseSystem::apply_full(OperandList list) const {
  const auto w = [&](std::size_t i) { return &full_other_[i]; };
  // w = x_o + A_oo^-1 H_oe x_e, y_o = A_oo w, y_e = A_ee x_e + H_eo x_o
  run(list, Parity::Odd, 1, 8, true, [&](std::size_t i) { return StencilCall{w(i), nullptr, list[i].x, list[i].x}; });
  stencil_->multiply_odd(operands_for(list, [&](std::size_t i) { return Operands{list[i].y, w(i)}; }));
  run(list, Parity::Even, 0, stencil_size, false, [&](std::size_t i) {
    return StencilCall{list[i].y, list[i].x, list[i].x};
  });
}

void CoarseSystem::apply_reduced(OperandList list) const {
  run(list, Parity::Odd, 1, 8, false, [&](std::size_t i) { return StencilCall{&other_[i], nullptr, list[i].x}; });
  run(list, Parity::Even, 0, stencil_size, false, [&](std::size_t i) {
    return StencilCall{list[i].y, list[i].x, &other_[i]};
  });
}

void CoarseSystem::prepare_each(OperandList list) const {
  run(list, Parity::Odd, 0, 1, false, [&](std::size_t i) { return StencilCall{&other_[i], list[i].x, nullptr}; });
  run(list, Parity::Even, 1, 8, true, [&](std::size_t i) {
    return StencilCall{list[i].y, nullptr, &other_[i], list[i].x};
  });
}

void CoarseSystem::reconstruct_each(OperandList list) const {
  for (const Operands& call : list) {
    Field even = call.y->parity(Parity::Even);
    blas::copy(even, *call.x);
  }
  run(list, Parity::Odd, 0, stencil_size, false, [&](std::size_t i) {
    return StencilCall{list[i].y, list[i].z, list[i].x};
  });
}

}  // namespace

std::unique_ptr<LevelSystem> make_coarse_system(const LinearOperator& a, const Transfer& transfer) {
  require_same(a.field_desc(), transfer.fine_desc(), "an operator and the test vectors of its coarse one");
  return std::make_unique<CoarseSystem>(a, transfer);
}

double coarse_system_bytes(const FieldDesc& coarse) {
  const double rows = coarse.components() / 2;
  return (stencil_size + 0.5) * 2 * rows * rows * double(coarse.lattice->volume()) *
         double(number_bytes(coarse.precision));
}

}  // namespace quadrille::multigrid
