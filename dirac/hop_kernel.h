// A generated hopping kernel on one backend, bound to the links and scalars that it works with.
#pragma once

#include "core/backend/of_backend.h"
#include "core/field/field.h"
#include "core/operator/operator.h"

#include <array>
#include <complex>
#include <cstddef>
#include <memory>
#include <string>

namespace quadrille {

/// Boundary conditions and coefficients of the hops: scalars that all reconstructions share.
struct HopScalars {
  /// theta/pi for x, y, z, t: exp(i theta) multiplies the forward link that leaves the last slice.
  std::array<double, 4> boundary{};
  /// Factor of the spatial hops: nu / xi0.
  double spatial = 1;
  /// Hops in time have the factor exp(chemical_potential) from t+1 and its inverse from t-1.
  double chemical_potential = 0;
};

/// The coefficient of the hop in direction d of the operator, or of its adjoint.
double hop_coefficient(const HopScalars& scalars, int d, Dagger dagger);

/// exp(i theta) of a hop in direction d (0..3 forward x..t, 4..7 backward) across the edge: exact for multiples of
/// pi/2.
std::complex<double> boundary_factor(const HopScalars& scalars, int d);

/// What a hopping kernel is made for. The fields outlive it and stay where they are.
struct HopSetup {
  std::string op;
  OperatorForm form;
  HopScalars scalars;
  FieldDesc spinor;            ///< of one parity, with the backend
  const Field* spatial_links;  ///< directions hops::spatial
  const Field* time_links;     ///< directions hops::time
};

/// A site-local operator: number B + i twist gamma_5 C with Hermitian chiral blocks B = `blocks` and C =
/// `twist_blocks`, full fields of site_formats::chiral_blocks in the form of the spinors; each is 1 where it is null,
/// and C is null where B is. For the dagger of an operator: with -twist.
struct SiteTerm {
  double number = 1, twist = 0;
  const Field *blocks = nullptr, *twist_blocks = nullptr;

  /// What kernels do without blocks.
  double number_twist() const { return blocks == nullptr ? twist : 0; }
};

/// y = L D x, or y = L D x + R z with z not null, L = on_sum, R = on_z, for every call of a list: fields as Dslash has
/// checked them, at least one call, z of all or of none. The number of L is not 0, nor that of R with blocks, and one
/// of the two at most has blocks.
struct HopCall {
  OperandList list;
  Parity parity;  ///< of every y
  Dagger dagger;
  SiteTerm on_sum, on_z;

  bool has_z() const { return list.front().z != nullptr; }
  /// The same for `count` calls of the list, from `first` on.
  HopCall part(std::size_t first, std::size_t count) const {
    return {list.subspan(first, count), parity, dagger, on_sum, on_z};
  }
  /// Whether there is more than numbers.
  bool has_terms() const { return with_blocks() != nullptr || on_sum.twist != 0 || on_z.twist != 0; }
  const SiteTerm* with_blocks() const {
    return on_sum.blocks != nullptr ? &on_sum : on_z.blocks != nullptr ? &on_z : nullptr;
  }
  /// Fields of blocks that the kernel reads.
  int block_fields() const {
    const SiteTerm* term = with_blocks();
    return term == nullptr ? 0 : term->twist_blocks == nullptr || term->twist == 0 ? 1 : 2;
  }
};

class HopKernel {
 public:
  virtual ~HopKernel() = default;
  virtual std::string name() const = 0;  ///< "wilson_half_12"
  /// What it is compiled for: "avx2", "sm_90".
  virtual std::string architecture() const = 0;
  /// How the kernel for lists of so many calls sits on the device, once it has run: "128 registers, 0 bytes local, 16
  /// of 64 warps, walk 16x4x2x4/2". Empty on a CPU.
  virtual std::string resources(std::size_t calls) const { return (void)calls, ""; }
  virtual void run(const HopCall& call) const = 0;
  /// y = R z for every call of the list; x is not read.
  virtual void run_local(const HopCall& call) const = 0;
  /// In how many ways it can be launched for lists of so many calls, which run() chooses from: the bits are the same in
  /// each.
  virtual std::size_t ways(std::size_t calls) const { return (void)calls, 1; }
  virtual void run_in(std::size_t way, const HopCall& call) const { (void)way, run(call); }
};

/// One of these for each backend; ErrorCode::unsupported when there is no kernel for the form.
QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<HopKernel>, make_hop, (const HopSetup& setup))

}  // namespace quadrille
