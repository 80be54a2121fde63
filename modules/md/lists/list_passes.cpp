#include "modules/md/lists/list_passes.h"

#include "modules/md/pairs/pair_sums.h"

#include <algorithm>
#include <cmath>

namespace quadrille::md {

ListPass ListPasses::pass(Method method, bool energy, bool quanta) {
  if (stale_) engine_.scale(scales_.exponents);
  stale_ = false;
  const ListPass done = engine_.run(method, energy, quanta && is_fixed(method));
  seconds_ = done.seconds;
  ++passes_;
  return done;
}

/// Whether another pass is needed, with other exponents.
bool ListPasses::rescale(Method method, const PassWatch& watch) {
  const bool again = scales_.fit(watch, method, system_, options_.forces, constant_force_);
  if (again) stale_ = true;
  return again;
}

std::int32_t ListPasses::run(bool energy, bool quanta) {
  passes_ = 0;
  const auto until_it_fits = [&](Method method) {
    for (;;) {
      const ListPass done = pass(method, energy, method == options_.forces.method && (quanta || energy));
      if (done.infinite >= 0 || !is_fixed(method) || !rescale(method, done.watch)) return done.infinite;
    }
  };
  const Method method = options_.forces.method;
  if (method == Method::nitadori_large && !scales_.known) {  // its terms are not watched; those of F are the same
    const std::int32_t infinite = until_it_fits(Method::narumi);
    if (infinite >= 0) return infinite;
    scales_.exponents.force = std::min(scales_.exponents.force, large_exponent);
    stale_ = true;
  }
  return until_it_fits(method);
}

double ListPasses::unit() const { return std::ldexp(1.0, -scales_.exponents.force); }

ForceResult ListPasses::result(bool energy) {
  ForceResult out;
  out.passes = passes_;
  out.pass_seconds = seconds_;
  out.exponent = scales_.exponents.force;
  // Half of the sums, unscaled: every pair has been met twice.
  if (energy) set_totals(out, engine_.totals(), std::ldexp(1.0, -scales_.exponents.energy - 1));
  return out;
}

void ListPasses::set_scales(const Exponents& exponents, bool known) {
  scales_ = {};
  scales_.exponents = exponents;
  scales_.known = known;
  stale_ = true;
}

}  // namespace quadrille::md
