// The matrices of a coarse operator in the memory of a backend, and their products with fields.
#pragma once

#include "core/field/field.h"
#include "core/operator/operator.h"
#include "solvers/multigrid/transfer.h"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace quadrille::multigrid {

/// Matrices of a site: its own, and those of eight neighbours.
constexpr int stencil_size = StencilMatrices<float>::stencil;

/// A part of an operator on the sites of one parity: y = z +- (M_0 own + sum over directions M_d around(x + d)).
struct StencilCall {
  Field* y;
  const Field* own;     ///< of this parity
  const Field* around;  ///< of the other one
  const Field* z = nullptr;
};

class Stencil {
 public:
  virtual ~Stencil() = default;

  /// As Transfer::project(), into these matrices.
  virtual void project(const Transfer& transfer, std::span<const Field* const> images, int colour, int first) = 0;
  /// Of odd sites: A_oo is kept, its inverse and -A_oo^-1 H_oe stand in the stencil. False where there is no inverse.
  virtual bool invert_odd_sites() = 0;
  /// The calls on all sites of a parity, with the matrices first ... first + count - 1 of the stencil.
  virtual void run(std::span<const StencilCall> calls, Parity p, int first, int count, bool subtract) const = 0;
  /// y = A_oo x on odd sites; y may be x.
  virtual void multiply_odd(OperandList list) const = 0;
};

/// Without matrices yet, for full fields like these.
std::unique_ptr<Stencil> make_stencil(const FieldDesc& coarse);

/// [parity][site][direction]: the even-odd index of each neighbour, forward in x ... t, then backward.
std::vector<std::int32_t> neighbours_of(const Lattice& lattice);

}  // namespace quadrille::multigrid
