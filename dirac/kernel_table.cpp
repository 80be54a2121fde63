#include "dirac/kernel_table.h"

#include "core/error.h"

#include <fmt/format.h>

#include <set>
#include <vector>

namespace quadrille::dirac {

#define X(name, op, precision, reconstruct, line)                                          \
  void name##_generic(const DslashArgs&, int lanes, std::int64_t begin, std::int64_t end); \
  void name##_avx2(const DslashArgs&, int lanes, std::int64_t begin, std::int64_t end);    \
  void name##_avx512(const DslashArgs&, int lanes, std::int64_t begin, std::int64_t end);
#include "cpu_kernel_table.inc"
#undef X

#define X(name, op, precision)                                                           \
  void name##_generic(const PackArgs&, int lanes, std::int64_t begin, std::int64_t end); \
  void name##_avx2(const PackArgs&, int lanes, std::int64_t begin, std::int64_t end);    \
  void name##_avx512(const PackArgs&, int lanes, std::int64_t begin, std::int64_t end);
#include "cpu_pack_table.inc"
#undef X

namespace {

const std::vector<KernelInfo>& table() {
  static const std::vector<KernelInfo> kernels = {
#define X(name, op, precision, reconstruct, line) \
  {#name, op, Precision::precision, Reconstruct::reconstruct, Isa::Generic, &name##_generic},
#include "cpu_kernel_table.inc"
#undef X
#ifdef QUADRILLE_HAVE_AVX2
#define X(name, op, precision, reconstruct, line) \
  {#name, op, Precision::precision, Reconstruct::reconstruct, Isa::Avx2, &name##_avx2},
#include "cpu_kernel_table.inc"
#undef X
#endif
#ifdef QUADRILLE_HAVE_AVX512
#define X(name, op, precision, reconstruct, line) \
  {#name, op, Precision::precision, Reconstruct::reconstruct, Isa::Avx512, &name##_avx512},
#include "cpu_kernel_table.inc"
#undef X
#endif
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

PackKernel find_pack_kernel(const std::string& op, Precision precision, int lanes) {
  struct Entry {
    const char* op;
    Precision precision;
    Isa isa;
    PackKernel run;
  };
  static const std::vector<Entry> kernels = {
#define X(name, op, precision) {op, Precision::precision, Isa::Generic, &name##_generic},
#include "cpu_pack_table.inc"
#undef X
#ifdef QUADRILLE_HAVE_AVX2
#define X(name, op, precision) {op, Precision::precision, Isa::Avx2, &name##_avx2},
#include "cpu_pack_table.inc"
#undef X
#endif
#ifdef QUADRILLE_HAVE_AVX512
#define X(name, op, precision) {op, Precision::precision, Isa::Avx512, &name##_avx512},
#include "cpu_pack_table.inc"
#undef X
#endif
  };
  const Isa isa = rounding_isa_of_lanes(lanes, precision);
  for (const Entry& kernel : kernels) {
    if (kernel.op == op && kernel.precision == precision && kernel.isa == isa) return kernel.run;
  }
  throw Error(ErrorCode::internal, fmt::format("no kernel to pack half spinors of {} in {} precision for {}", op,
                                               to_string(precision), to_string(isa)));
}

}  // namespace quadrille::dirac
