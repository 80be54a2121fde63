// Approximate low modes of A^+ A that conjugate gradients come across: eigCG. A. Stathopoulos and K. Orginos, SIAM J.
// Sci. Comput. 32 (2010) 439, arXiv:0707.0131.
//
// The gradients z_j of CG are, normalised, vectors of Lanczos for A^+ A, whose matrix T is made of alpha and beta. A
// window holds the last of them. When it is full, the modes of the smallest eigenvalues of T and of T without its last
// line, combined, take the place of all (a thick restart), which converges as if all gradients were kept.
#pragma once

#include "core/operator/operator.h"
#include "solvers/methods/workspace.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace quadrille {

/// How fields are kept for iterations with an operator: in single precision, or in double where that iterates.
Precision kept_in(const LinearOperator& iterating);
/// A field like another in a precision, in the layout that its backend uses for it.
FieldDesc kept_as(const FieldDesc& desc, Precision precision);

/// In calls as the iterations of CG have them: begin(), and then step(), take(), coupled() in turns.
class LowModes {
 public:
  /// `iterating`: the operator whose fields the gradients are. A window holds more than 2 `wanted` gradients.
  LowModes(const LinearOperator& iterating, int window, int wanted);

  /// The gradient of a new search, |z|^2 = z2; all before are forgotten.
  void begin(const Field& z, double z2);
  /// x has moved by alpha along the direction of the last gradient.
  void step(double alpha);
  /// The gradient after that.
  void take(const Field& z);
  /// Its |z|^2, and that relative to the |z|^2 of the gradient before.
  void coupled(double beta, double z2);

  /// For each of the lowest modes found since begin(), the lowest first: u, a field of the iterating operator, is
  /// overwritten with it, of norm 1, and use() called.
  void for_each(Field& u, const std::function<void()>& use);

 private:
  double& t(std::size_t i, std::size_t j) { return t_[i * window_ + j]; }
  /// Eigenvectors of the smallest eigenvalues of the first `size` lines of T, one behind the other.
  std::vector<double> lowest(std::size_t size, std::size_t count);
  /// The modes that are kept take the place of all gradients.
  void restart();
  /// combined_k = sum over scale_j c_kj V_j, j < length
  void combine(std::vector<double> c, std::size_t length, std::size_t modes);

  std::size_t window_, wanted_;
  Workspace v_, combined_;
  std::vector<double> t_, scale_, coupling_;  // T; 1 / |V_j|; of the next gradient with those before, but for a factor
  std::size_t count_ = 0;
  bool stepped_ = false;            // T knows the last of them
  double alpha_ = 0, carried_ = 0;  // of the last step; beta / alpha of the turn before
};

}  // namespace quadrille
