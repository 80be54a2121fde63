// The generated dslash kernels of this build.
#pragma once

#include "core/numbers/precision.h"
#include "core/simd/isa.h"
#include "dirac/kernel_args.h"

#include <string>

namespace quadrille::dirac {

struct KernelInfo {
  std::string name;  ///< "wilson_half_12"
  std::string op;
  Precision precision;
  Reconstruct reconstruct;
  Isa isa;
  DslashKernel run;
};

/// The kernel for this operator and form on layouts of `lanes` lanes. When there is none: ErrorCode::unsupported naming
/// those that were built and the line of codegen/kernels.yaml that would add it.
const KernelInfo& find_kernel(const std::string& op, Precision precision, Reconstruct reconstruct, int lanes);

/// What fills the ghost zones of other ranks for this operator; made with its kernels.
PackKernel find_pack_kernel(const std::string& op, Precision precision, int lanes);
/// The site-local terms of this operator alone, out = R z of DslashArgs; made with its kernels.
DslashKernel find_local_kernel(const std::string& op, Precision precision, int lanes);

}  // namespace quadrille::dirac
