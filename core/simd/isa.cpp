#include "core/simd/isa.h"

#include "core/error.h"
#include "core/layout/vector_layout.h"
#include "core/simd/of_isa.h"

#include <algorithm>
#include <cstdlib>

namespace quadrille {
namespace {

struct Known {
  Isa isa;
  const char* name;
  bool (*runs_here)();
};

#if defined(__x86_64__)
bool cpu_has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool cpu_has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && cpu_has_avx2();
}
#else
bool cpu_has_avx2() { return false; }
bool cpu_has_avx512() { return false; }
#endif

/// In order of width. One more: a line here and in Isa, its options in cmake/QuadrilleBuild.cmake.
constexpr Known known_isas[] = {
    {Isa::generic, "generic", [] { return true; }},
    {Isa::avx2, "avx2", &cpu_has_avx2},
    {Isa::avx512, "avx512", &cpu_has_avx512},
};

bool built(Isa isa) {
#define X(name) || isa == Isa::name
  return false QUADRILLE_BUILT_ISAS(X);
#undef X
}

std::string names(const std::vector<Isa>& isas) {
  std::string text;
  for (Isa isa : isas) text += (text.empty() ? "" : ", ") + to_string(isa);
  return text;
}

std::vector<Isa> isas_with(bool (*has)(const Known&)) {
  std::vector<Isa> found;
  for (const Known& known : known_isas) {
    if (has(known)) found.push_back(known.isa);
  }
  return found;
}

}  // namespace

std::string to_string(Isa isa) { return known_isas[int(isa)].name; }

Isa parse_isa(const std::string& name) {
  for (const Known& known : known_isas) {
    if (name == known.name) return known.isa;
  }
  throw Error(ErrorCode::invalid_input, "QUADRILLE_ISA: unknown instruction set '" + name +
                                            "'; the instruction sets are " +
                                            names(isas_with([](const Known&) { return true; })));
}

std::vector<Isa> available_isas() {
  return isas_with([](const Known& known) { return built(known.isa) && known.runs_here(); });
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
  Isa isa = Isa::generic;
  while (native_lanes(isa, precision) < lanes) isa = Isa(int(isa) + 1);
  return isa;
}

Isa rounding_isa_of_lanes(int lanes, Precision precision) {
  const Isa narrowest = isa_of_lanes(lanes, precision);
  return built(Isa::avx2) ? std::max(narrowest, std::min(active_isa(), Isa::avx2)) : narrowest;
}

int choose_lanes(const Dims& dims, Precision precision, Isa isa) {
  for (int i = int(isa); i >= 0; --i) {
    const int lanes = native_lanes(Isa(i), precision);
    if (built(Isa(i)) && VectorLayout::fits(dims, lanes)) return lanes;
  }
  return 1;
}

}  // namespace quadrille
