// A space of fields in which systems with one operator are solved at once, before and between the iterations: that of
// the low modes which earlier solves have found. It is kept as pairs of u and w = A u with orthonormal w, as the
// recycled space of GCRO is: M. L. Parks et al., SIAM J. Sci. Comput. 28 (2006) 1651.
#pragma once

#include "core/operator/operator.h"
#include "solvers/deflation/low_modes.h"
#include "solvers/methods/workspace.h"

#include <complex>
#include <memory>
#include <optional>
#include <vector>

namespace quadrille {

/// The parameter group `deflation` of a method.
struct DeflationSettings {
  int vectors = 0;  ///< in the space at most; 0: there is none
  int window = 0;   ///< gradients that a solve keeps to find low modes in
  int modes = 0;    ///< low modes that are sought in them
};

/// Shared by the solvers of one operator. All of its memory is there from the start: 2 `vectors`, and while it is not
/// full `window` + 2 `modes` fields, in single precision, or in double where that iterates.
class QUADRILLE_API DeflationSpace {
 public:
  /// Of the outer operator and the one that iterates, which outlive its use and may be the same. NotEnoughMemory where
  /// the memory is not there, before any is taken.
  DeflationSpace(const LinearOperator& outer, const LinearOperator& iterating, const DeflationSettings& settings);

  /// From now on it belongs to solvers with these, the same operators in the same forms as those before, which may be
  /// gone.
  void serve(const LinearOperator& outer, const LinearOperator& iterating);

  int size() const { return size_; }
  int most() const { return int(u_.size()); }
  bool full() const { return size_ == most(); }
  /// Those that it has, in the order in which they came.
  std::vector<const Field*> modes() const { return first(u_); }
  /// Of the fields that it is used for.
  const FieldDesc& field_desc() const { return original_.desc(); }

  /// d = the element of the space with the smallest |r - A d|. Both are fields of the outer operator; d is overwritten.
  void solve(Field& d, const Field& r);
  /// Adds the direction of u, a field of the outer operator, unless it is in the space already, or this is full. A u is
  /// formed, and others may go on meanwhile.
  void add(const Field& u);

 private:
  friend class DeflationShare;
  std::vector<const Field*> first(const Workspace& fields) const;

  const LinearOperator *outer_, *iterating_;
  Workspace u_, w_;
  Field work_;                     // as the pairs are kept
  Field mode_, original_, image_;  // of the iterating operator; of the outer one
  std::optional<LowModes> modes_;  // until the space is full
  std::vector<std::complex<double>> coefficients_;
  int size_ = 0;
  bool taken_ = false;
};

/// The right of a solve to add to a space what its gradients show of low modes. One solve at a time has it.
class DeflationShare {
 public:
  /// Null where there is no space, it is full, or another solve has it.
  static std::unique_ptr<DeflationShare> of(DeflationSpace* space);
  ~DeflationShare();
  DeflationShare(const DeflationShare&) = delete;
  DeflationShare& operator=(const DeflationShare&) = delete;

  /// What the solve is to call as it iterates.
  LowModes& modes() { return *space_.modes_; }
  /// Adds what has been found.
  void add_modes();

 private:
  explicit DeflationShare(DeflationSpace& space) : space_(space) { space_.taken_ = true; }

  DeflationSpace& space_;
};

}  // namespace quadrille
