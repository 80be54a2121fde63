// Operators for several solves at once, which meet where they apply one.
#pragma once

#include "core/comm/communicator.h"
#include "core/operator/operator.h"
#include "core/system/fibers.h"

#include <functional>
#include <vector>

namespace quadrille {

/// Solves that go on in turns, each a fiber, until all that are not done want an operator applied; those that want the
/// same are served by one call. When they want different ones, the fewest are served first: a solve that has left the
/// others, for a reliable update, catches up with them. Before any operator come sums over ranks, of all that want one.
/// The order depends on nothing but the residuals, so that it is the same on all ranks.
class Meeting {
 public:
  struct Wish {
    const LinearOperator* a = nullptr;
    Dagger dagger = Dagger::No;
    Field* y = nullptr;
    const Field* x = nullptr;
  };

  /// solve(0) ... solve(count - 1), on these ranks; as Fibers::run().
  void hold(int count, const Communicator& ranks, const std::function<void(int)>& solve);
  /// y = A x; outside of hold() at once.
  void apply(const Wish& wish);

 private:
  void serve(Fibers& fibers);

  std::vector<Wish> wishes_;  ///< of each solve
};

/// An operator that solves in a meeting apply together. Refers to both.
class JoinedOperator final : public LinearOperator {
 public:
  JoinedOperator(const LinearOperator& a, Meeting& meeting) : a_(a), meeting_(meeting) {}

  const FieldDesc& field_desc() const override { return a_.field_desc(); }
  void apply(Field& y, const Field& x, Dagger dagger) const override { meeting_.apply({&a_, dagger, &y, &x}); }
  double flops() const override { return a_.flops(); }
  std::string form_name() const override { return a_.form_name(); }
  void enter(Field& mine, const Field& original) const override { a_.enter(mine, original); }
  void leave(Field& original, const Field& mine) const override { a_.leave(original, mine); }

 private:
  const LinearOperator& a_;
  Meeting& meeting_;
};

}  // namespace quadrille
