// Instruction sets of the CPU kernels: one source is compiled for each, and cpuid chooses at run time.
#pragma once

#include "core/api.h"
#include "core/dims.h"
#include "core/numbers/precision.h"

#include <string>
#include <vector>

namespace quadrille {

/// In order of width: 16, 32 and 64 byte registers.
enum class Isa { generic, avx2, avx512 };

/// "generic", "avx2", "avx512", and back; an unknown name is an ErrorCode::invalid_input.
QUADRILLE_API std::string to_string(Isa isa);
QUADRILLE_API Isa parse_isa(const std::string& name);

/// What this build holds kernels for and this CPU can run.
QUADRILLE_API std::vector<Isa> available_isas();

/// The widest available instruction set, or the one that the environment variable QUADRILLE_ISA names. A name that is
/// unknown, not built or beyond this CPU is an error (invalid_input or unsupported). Read anew at every call.
QUADRILLE_API Isa active_isa();

/// Lanes of a full register of this instruction set in the compute type of `precision`.
constexpr int native_lanes(Isa isa, Precision precision) { return (16 << int(isa)) / int(compute_bytes(precision)); }

/// The instruction set whose kernels work on `lanes` lanes: the narrowest one whose registers they fill.
QUADRILLE_API Isa isa_of_lanes(int lanes, Precision precision);

/// The same of kernels whose bits must not depend on how a lattice is divided over ranks: where active_isa() is AVX2 or
/// AVX-512, which fuse multiplications and additions, never generic if this build has AVX2 kernels (only those and the
/// generic ones take few lanes), so that the few lanes of small parts round as many do.
QUADRILLE_API Isa rounding_isa_of_lanes(int lanes, Precision precision);

/// The widest layout of `isa` or below that a lattice of these local extents can be cut into; 1 when none fits.
QUADRILLE_API int choose_lanes(const Dims& dims, Precision precision, Isa isa);

}  // namespace quadrille
