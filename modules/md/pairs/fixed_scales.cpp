#include "modules/md/pairs/fixed_scales.h"

#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

/// Largest exponents of a term in quanta (core/accumulators/fixed_point.h).
int term_exponent(Method method) {
  switch (method) {
    case Method::narumi_constant: return 38;
    case Method::int64:
    case Method::exact: return 45;
    default: return 40;
  }
}

}  // namespace

bool FixedScales::fit(const PassWatch& watch, Method method, const System& system, const ForceOptions& options,
                      double constant_force) {
  if (known && watch.strayed == 0 && watch.ratio <= safe_ratio_ && watch.energy <= safe_energy_) return false;
  const int most = term_exponent(method);
  const double largest =
      force_bound(system, options, std::ldexp(double(watch.ratio), -exponents.force), constant_force);
  const double largest_energy = std::ldexp(double(watch.energy), -exponents.energy);
  const int room = 100 - int(std::ceil(std::log2(std::max(1e-30, largest_coefficient(system, options)))));
  const auto fitting = [&](double term) {
    return term > 0 ? std::min(room, most - 1 - int(std::ceil(std::log2(term)))) : std::min(room, 0);
  };
  Exponents next = exponents;
  if (!known || std::ldexp(largest, exponents.force) > std::ldexp(1.0, most)) next.force = fitting(largest);
  if (!known || std::ldexp(largest_energy, exponents.energy) > std::ldexp(1.0, most)) {
    next.energy = largest_energy > 0 ? fitting(largest_energy) : next.force;
  }
  if (known && (watch.strayed & 1) != 0) next.force = std::min(next.force, exponents.force - 4);
  if (known && (watch.strayed & 2) != 0) next.energy = std::min(next.energy, exponents.energy - 4);
  if (known && next.force == exponents.force && next.energy == exponents.energy) {
    safe_ratio_ = std::max(safe_ratio_, watch.ratio);
    safe_energy_ = std::max(safe_energy_, watch.energy);
    return false;
  }
  if (next.force < -100 || next.energy < -100) {
    throw Error(ErrorCode::numerical,
                fmt::format("the sum for particle {} is too large for fixed point", watch.who + 1));
  }
  exponents = next;
  known = true;
  safe_ratio_ = safe_energy_ = -1;
  return true;
}

}  // namespace quadrille::md
