// Between a lattice and the coarser one of its aggregates: P, whose columns are test vectors cut up by aggregate and
// chirality and made orthonormal, and P^+.
//
// R. Babich et al., Phys. Rev. Lett. 105 (2010) 201602, arXiv:1005.3043: with both chiralities kept apart gamma_5 P =
// P sigma_3, and the coarse operator P^+ M P inherits the gamma_5-hermiticity of M.
#pragma once

#include "core/api.h"
#include "core/host_device.h"
#include "core/operator/operator.h"
#include "solvers/multigrid/aggregates.h"

#include <cstdint>
#include <memory>
#include <span>

namespace quadrille::multigrid {

/// The matrices of a coarse operator: [aggregate][stencil][column][row], stencil 0 for the site itself, 1 + direction
/// for the neighbour there; columns and rows are [chirality][vector].
template <class T>
struct StencilMatrices {
  T* data;
  int rows;
  static constexpr int stencil = 9;

  QUADRILLE_HOST_DEVICE T* column(std::int64_t a, int block, int number) const {
    return data + ((a * stencil + block) * rows + number) * 2 * rows;
  }
};

class QUADRILLE_API Transfer {
 public:
  virtual ~Transfer() = default;

  /// Full lattices, fine and coarse.
  virtual const FieldDesc& fine_desc() const = 0;
  virtual const FieldDesc& coarse_desc() const = 0;
  virtual const Aggregates& aggregates() const = 0;
  virtual int vectors() const = 0;
  virtual double bytes() const = 0;

  /// Vector number k becomes this full field, not yet orthonormal.
  virtual void take(int k, const Field& vector) = 0;
  /// P^+ P = 1 to rounding, in double. Gives the smallest part of a vector, in any aggregate and chirality, that those
  /// before it do not span.
  virtual double orthonormalise() = 0;
  /// A column of P: one chirality (0 or 1) of vector k, in the aggregates of one colour, 0 elsewhere. `v` is full and
  /// overwritten.
  virtual void column(Field& v, int k, int chirality, int colour) const = 0;

  /// y = P^+ x for calls of one subset: y full and coarse; x fine, where half of the lattice stands for 0 on the rest.
  virtual void restrict_each(OperandList list) const = 0;
  /// y = P x for calls of one subset: y fine, full or half, overwritten; x full and coarse.
  virtual void prolong_each(OperandList list) const = 0;

  /// images[r] is A c for the column c of a colour, A a nearest-neighbour operator; column `first` + r of those blocks
  /// of P^+ A P that come from that colour are written.
  virtual void project(std::span<const Field* const> images, int colour, StencilMatrices<float> into,
                       int first) const = 0;
  virtual void project(std::span<const Field* const> images, int colour, StencilMatrices<double> into,
                       int first) const = 0;
};

/// The smallest of the parts that orthonormalise() has found in each aggregate and chirality; 0 where one is NaN.
double smallest_part(std::span<const double> parts);

/// `fine`: full fields in double or single; `aggregates` are of its lattice. `vectors`: a multiple of 8, up
/// to 64.
QUADRILLE_API std::unique_ptr<Transfer> make_transfer(std::shared_ptr<const Aggregates> aggregates,
                                                      const FieldDesc& fine, int vectors);

}  // namespace quadrille::multigrid
