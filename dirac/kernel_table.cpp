#include "dirac/kernel_table.h"

#include "core/error.h"
#include "core/simd/of_isa.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace quadrille::dirac {

#define X(name, op, precision, reconstruct, line) \
  QUADRILLE_DECLARE_FOR_ISAS(void, name, (const DslashArgs&, int lanes, std::int64_t begin, std::int64_t end))
#include "cpu_kernel_table.inc"
#undef X

#define X(name, op, precision) \
  QUADRILLE_DECLARE_FOR_ISAS(void, name, (const PackArgs&, int lanes, std::int64_t begin, std::int64_t end))
#include "cpu_pack_table.inc"
#undef X

#define X(name, op, precision) \
  QUADRILLE_DECLARE_FOR_ISAS(void, name, (const DslashArgs&, int lanes, std::int64_t begin, std::int64_t end))
#include "cpu_local_table.inc"
#undef X

namespace {

/// What is made once for each operator and precision.
template <class Kernel>
struct Companion {
  const char* op;
  Precision precision;
  Isa isa;
  Kernel run;
};

template <class Kernel>
Kernel find(const std::vector<Companion<Kernel>>& kernels, const char* what, const std::string& op, Precision precision,
            int lanes) {
  const Isa isa = rounding_isa_of_lanes(lanes, precision);
  for (const Companion<Kernel>& kernel : kernels) {
    if (kernel.op == op && kernel.precision == precision && kernel.isa == isa) return kernel.run;
  }
  throw Error(ErrorCode::internal,
              fmt::format("no kernel {} of {} in {} precision for {}", what, op, to_string(precision), to_string(isa)));
}

const std::vector<KernelInfo>& table() {
  static const std::vector<KernelInfo> kernels = {
#define QUADRILLE_ROW(isa, name, op, precision, reconstruct) \
  {#name, op, Precision::precision, Reconstruct::reconstruct, Isa::isa, &name##_##isa},
#define X(name, op, precision, reconstruct, line) QUADRILLE_BUILT_ISAS(QUADRILLE_ROW, name, op, precision, reconstruct)
#include "cpu_kernel_table.inc"
#undef X
#undef QUADRILLE_ROW
  };
  return kernels;
}

}  // namespace

const KernelInfo& find_kernel(const std::string& op, Precision precision, Reconstruct reconstruct, int lanes) {
  const Isa isa = rounding_isa_of_lanes(lanes, precision);
  std::set<std::string> built;
  for (const KernelInfo& kernel : table()) {
    if (kernel.op == op && kernel.precision == precision && kernel.reconstruct == reconstruct && kernel.isa == isa) {
      return kernel;
    }
    built.insert(kernel.name + " (" + to_string(kernel.isa) + ")");
  }
  std::string names;
  for (const std::string& name : built) names += (names.empty() ? "" : ", ") + name;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("no kernel {0}_{1}_{2} for {3} in this build, which has {4}. To add it: codegen/kernels.yaml, "
                  "entry `operator: {0}`, `backend: cpu`, {1} under `precision:` and {2} under `reconstruct:` "
                  "(and {3} in the CMake list QUADRILLE_KERNEL_ISAS)",
                  op, to_string(precision), to_string(reconstruct), to_string(isa), names));
}

#define QUADRILLE_ROW(isa, name, op, precision) {op, Precision::precision, Isa::isa, &name##_##isa},
#define X(name, op, precision) QUADRILLE_BUILT_ISAS(QUADRILLE_ROW, name, op, precision)

PackKernel find_pack_kernel(const std::string& op, Precision precision, int lanes) {
  static const std::vector<Companion<PackKernel>> kernels = {
#include "cpu_pack_table.inc"
  };
  return find(kernels, "for half spinors", op, precision, lanes);
}

DslashKernel find_local_kernel(const std::string& op, Precision precision, int lanes) {
  static const std::vector<Companion<DslashKernel>> kernels = {
#include "cpu_local_table.inc"
  };
  return find(kernels, "for site-local terms", op, precision, lanes);
}

}  // namespace quadrille::dirac
