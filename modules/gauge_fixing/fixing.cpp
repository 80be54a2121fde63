#include "modules/gauge_fixing/fixing.h"

#include <bit>

namespace quadrille::gauge_fixing {

GaugeFixing::GaugeFixing(const GaugeStore& links, Gauge gauge)
    : lattice_(links.lattice()),
      directions_(gauge == Gauge::Landau ? landau_directions : coulomb_directions),
      work_(make_turn_work(links)) {}

GaugeState GaugeFixing::measure() {
  const Seen even = half_sweep(0, 0), odd = half_sweep(1, 0);
  odd_theta_ = odd.after;
  knows_odd_ = true;
  return {odd.functional, even.before + odd.after};
}

// A link joins an even and an odd site: F is the sum over the odd ones, which turn last. What odd sites leave of theta
// stays until the even ones turn.
GaugeState GaugeFixing::iterate(double omega) {
  if (!knows_odd_) measure();
  const Seen even = half_sweep(0, omega), odd = half_sweep(1, omega);
  const double theta = even.before + odd_theta_;
  odd_theta_ = odd.after;
  return {odd.functional, theta};
}

/// With the normalization of F and theta; over all ranks.
Seen GaugeFixing::half_sweep(int parity, double omega) {
  const Seen seen = work_->relax({parity, omega, directions_});
  double sums[] = {seen.functional, seen.before, seen.after};
  lattice_.communicator().sum(sums, 3);
  const double sites = 3 * double(volume(lattice_.global_dims()));
  return {sums[0] / (sites * std::popcount(directions_)), sums[1] / sites, sums[2] / sites};
}

}  // namespace quadrille::gauge_fixing
