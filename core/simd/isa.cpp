#include "core/simd/isa.h"

#include "core/error.h"
#include "core/layout/vector_layout.h"

#include <algorithm>
#include <cstdlib>

namespace quadrille {
namespace {

constexpr Isa all_isas[] = {Isa::Generic, Isa::Avx2, Isa::Avx512};

bool built(Isa isa) {
#ifdef QUADRILLE_HAVE_AVX2
  if (isa == Isa::Avx2) return true;
#endif
#ifdef QUADRILLE_HAVE_AVX512
  if (isa == Isa::Avx512) return true;
#endif
  return isa == Isa::Generic;
}

bool cpu_has(Isa isa) {
#if defined(__x86_64__)
  if (isa == Isa::Avx2) return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (isa == Isa::Avx512) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && cpu_has(Isa::Avx2);
  }
#endif
  return isa == Isa::Generic;
}

std::string names(const std::vector<Isa>& isas) {
  std::string text;
  for (Isa isa : isas) text += (text.empty() ? "" : ", ") + to_string(isa);
  return text;
}

}  // namespace

std::string to_string(Isa isa) { return isa == Isa::Generic ? "generic" : isa == Isa::Avx2 ? "avx2" : "avx512"; }

Isa parse_isa(const std::string& name) {
  for (Isa isa : all_isas) {
    if (name == to_string(isa)) return isa;
  }
  throw Error(ErrorCode::invalid_input, "QUADRILLE_ISA: unknown instruction set '" + name +
                                            "'; the instruction sets are generic, avx2 and avx512");
}

std::vector<Isa> available_isas() {
  std::vector<Isa> found;
  for (Isa isa : all_isas) {
    if (built(isa) && cpu_has(isa)) found.push_back(isa);
  }
  return found;
}

Isa active_isa() {
  const std::vector<Isa> available = available_isas();
  const char* forced = std::getenv("QUADRILLE_ISA");
  if (forced == nullptr || *forced == '\0') return available.back();
  const Isa isa = parse_isa(forced);
  for (Isa candidate : available) {
    if (candidate == isa) return isa;
  }
  throw Error(ErrorCode::unsupported, "QUADRILLE_ISA: this " + std::string(built(isa) ? "CPU" : "build") + " has no " +
                                          to_string(isa) + "; available are " + names(available));
}

Isa isa_of_lanes(int lanes, Precision precision) {
  Isa isa = Isa::Generic;
  while (native_lanes(isa, precision) < lanes) isa = Isa(int(isa) + 1);
  return isa;
}

Isa rounding_isa_of_lanes(int lanes, Precision precision) {
  const Isa narrowest = isa_of_lanes(lanes, precision);
  return built(Isa::Avx2) ? std::max(narrowest, std::min(active_isa(), Isa::Avx2)) : narrowest;
}

int choose_lanes(const Dims& dims, Precision precision, Isa isa) {
  for (int i = int(isa); i >= 0; --i) {
    const int lanes = native_lanes(Isa(i), precision);
    if (built(Isa(i)) && VectorLayout::fits(dims, lanes)) return lanes;
  }
  return 1;
}

}  // namespace quadrille
