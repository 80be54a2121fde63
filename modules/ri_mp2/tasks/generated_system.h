// Systems of any size whose integrals are made up, with magnitudes as those of real ones: for studies of speed and
// rounding.
//
// The model. Elements of B of hydrocarbons in a cc-pVDZ basis (water, butane and octane of 84, 364 and 700 auxiliary
// functions were looked at; those that vanish by symmetry left out) have root mean square 1.7 / N, N being the number
// of auxiliary functions, and magnitudes close to log-normal with a standard deviation of the logarithm of about 1.05.
// It has three parts here, each drawn anew where it says so:
//
//   B_ia^Q = (1.7 / N) c (+-1) exp(0.4 x_ia) exp(-2 Q / N) exp(0.85 y_iaQ)     x, y normal; c sets the mean square
//
// pairs of orbitals differ in (ia|ia); auxiliary functions matter ever less, by a factor of e^2 from the first to the
// last; the rest is noise. The metric has elements s_P s_Q 0.9^|P - Q| with s_P^2 log-uniform in [0.2, 60], the range
// of (P|P) of those molecules; its condition is of the order of 10^5 (theirs: 10^6). (ia|P) is B (P|Q)^{1/2}, so that
// step 3 gives B back. A quarter of the occupied orbitals are core orbitals at -11.2 Hartree; the others lie in
// [-1.2, -0.42], the virtual ones in [0.18, 3.2].
#pragma once

#include "modules/ri_mp2/ri_mp2.h"

#include <cstdint>

namespace quadrille::ri_mp2 {

/// Sizes must be 1 or more (ErrorCode::invalid_input). The same seed gives the same system, but for rounding. The large
/// product is done by the backend, the CPU where null.
QUADRILLE_API System generated_system(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary,
                                      std::uint64_t seed, Backend* backend = nullptr);

/// The same system without (ia|P), which System::read_ia_p makes, by the CPU.
QUADRILLE_API System generated_on_demand(std::int64_t occupied, std::int64_t virtuals, std::int64_t auxiliary,
                                         std::uint64_t seed);

}  // namespace quadrille::ri_mp2
