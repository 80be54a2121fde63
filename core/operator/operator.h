// What a solver needs of an operator, and what a driver needs of a system of equations.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/numbers/precision.h"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace quadrille {

enum class Dagger { No, Yes };

/// How an operator stores and applies its links.
struct OperatorForm {
  Precision precision = Precision::Double;
  Reconstruct reconstruct = Reconstruct::R18;
  bool temporal_gauge = false;
  bool operator==(const OperatorForm&) const = default;
};

/// "half 12", "half 12 temporal gauge".
QUADRILLE_API std::string to_string(const OperatorForm& form);

/// The fields of one of several equal calls, of one right-hand side each: y is written, x and z are read; z is null
/// where such calls have none.
struct Operands {
  Field* y = nullptr;
  const Field* x = nullptr;
  const Field* z = nullptr;
};

/// Many right-hand sides are a list of calls that differ only in their fields. The memory of each is its own: nothing
/// is packed for a call, a right-hand side that is done leaves the list, and the bits of each are those of a call
/// alone.
using OperandList = std::span<const Operands>;

/// The list of one call; `call` outlives it.
inline OperandList only(const Operands& call) { return {&call, 1}; }

/// A list of its own: of up to `few` calls it takes no memory of the heap.
class OwnedOperands {
 public:
  explicit OwnedOperands(std::size_t count) : count_(count), many_(count > few ? count : 0) {}
  Operands& operator[](std::size_t i) { return count_ > few ? many_[i] : few_[i]; }
  operator OperandList() const { return count_ > few ? OperandList(many_) : OperandList(few_.data(), count_); }

 private:
  static constexpr std::size_t few = 16;
  std::size_t count_;
  std::array<Operands, few> few_ = {};
  std::vector<Operands> many_;
};

/// A list as long as another: operands(i) of each i.
template <class Make>
OwnedOperands operands_for(OperandList list, Make&& operands) {
  OwnedOperands made(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) made[i] = operands(i);
  return made;
}

/// A linear map of fields that are vectors of complex numbers at each site. apply() allocates nothing and may be called
/// from one thread at a time.
class QUADRILLE_API LinearOperator {
 public:
  virtual ~LinearOperator() = default;

  /// The description of the fields that apply() takes and gives.
  virtual const FieldDesc& field_desc() const = 0;
  /// y = A x, or A^dagger x. y is overwritten; y and x must not overlap.
  virtual void apply(Field& y, const Field& x, Dagger dagger) const = 0;
  /// apply() for each y and x of a list (z is not used), with the bits of a call alone; fields that are written appear
  /// once. What calls share, links above all, operators made from links read once for many. A list that is longer than
  /// all before may allocate scratch, a few fields a call. Here: one call after the other.
  virtual void apply_each(OperandList list, Dagger dagger) const;
  /// Floating-point operations of one apply(), by the standard count.
  virtual double flops() const = 0;
  /// Its form as reports name it: the precision, unless it is made from links.
  virtual std::string form_name() const;

  /// Carry a field into this operator's own format (and gauge, where it has one), and back. The destination is
  /// overwritten. Here: convert().
  virtual void enter(Field& mine, const Field& original) const;
  virtual void leave(Field& original, const Field& mine) const;
};

/// A linear operator made from links, which it holds in one of several forms.
class QUADRILLE_API GaugeOperator : public LinearOperator {
 public:
  virtual const OperatorForm& form() const = 0;
  std::string form_name() const override { return to_string(form()); }
  /// The same operator in another form. Only an operator in the original gauge can be converted
  /// (ErrorCode::internal otherwise).
  virtual std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const = 0;
};

/// Even-odd preconditioning: which of the equivalent reduced systems of M = A + H, A local to a site.
struct EvenOddForm {
  enum class Kind {
    asymmetric,  ///< A - H A^-1 H
    symmetric,   ///< 1 - A^-1 H A^-1 H
    automatic,   ///< symmetric where A has matrices (clover)
  };
  Parity kept = Parity::Even;  ///< the sites that the solver works on
  Kind kind = Kind::asymmetric;
};

/// M x = b on the full lattice, reduced to a smaller system for the solver (even-odd preconditioning).
class QUADRILLE_API LinearSystem {
 public:
  virtual ~LinearSystem() = default;

  /// The reduced operator.
  virtual const GaugeOperator& reduced() const = 0;
  virtual const FieldDesc& full_desc() const = 0;
  /// M itself, which connects nearest neighbours alone. Here: ErrorCode::unsupported.
  virtual const LinearOperator& full() const;
  /// rhs of the reduced system from b; rhs is overwritten. Gives how much larger |residual| of the full system is than
  /// that of the reduced one: exactly 1 where they are the same, else what it is for a solution of 0.
  virtual double prepare(Field& rhs, const Field& b) const = 0;
  /// The full solution from the reduced one; x is overwritten.
  virtual void reconstruct(Field& x, const Field& reduced, const Field& b) const = 0;
  /// r = b - M x on the full lattice; r is overwritten; gives |r|.
  virtual double full_residual(Field& r, const Field& x, const Field& b) const = 0;
  /// The same system in another form.
  virtual std::unique_ptr<LinearSystem> converted(const OperatorForm& form) const = 0;
};

}  // namespace quadrille
