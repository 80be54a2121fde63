#include "modules/md/tasks/force_study.h"

#include "core/backend/backend.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

/// |F| of a particle, or |F - G|.
double length_of(const std::vector<double>& f, const std::vector<double>* g, std::size_t i) {
  double squared = 0;
  for (std::size_t k = 3 * i; k < 3 * i + 3; ++k) {
    const double d = g == nullptr ? f[k] : f[k] - (*g)[k];
    squared += d * d;
  }
  return std::sqrt(squared);
}

double relative_error(const std::vector<double>& f, const std::vector<double>& g, std::size_t particles) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < particles; ++i) {
    difference += length_of(f, &g, i);
    size += length_of(g, nullptr, i);
  }
  return size > 0 ? difference / size : 0;
}

double largest_error(const std::vector<double>& f, const std::vector<double>& g) {
  double largest = 0, squares = 0;
  for (std::size_t i = 0; i < g.size() / 3; ++i) {
    largest = std::max(largest, length_of(f, &g, i));
    squares += std::pow(length_of(g, nullptr, i), 2);
  }
  return squares > 0 ? largest / std::sqrt(squares / double(g.size() / 3)) : 0;
}

double offset_of(const ForceResult& result) {
  const std::array<double, 3> total = total_force(result);
  double size = 0;
  for (std::size_t i = 0; i < result.forces.size() / 3; ++i) size += length_of(result.forces, nullptr, i);
  return size > 0 ? std::hypot(total[0], total[1], total[2]) / size : 0;
}

ForceResult forces_by(const System& system, ForceOptions options, Method method, bool energy = false) {
  options.method = method;
  return PairForces(system, options).compute(system.positions, system.box, energy);
}

/// Exact sums of the single-precision terms, and those of their magnitudes.
struct ExactForces {
  std::vector<double> forces, magnitudes;
};

ExactForces exact_forces(const System& system, ForceOptions options) {
  options.backend = nullptr;
  return {forces_by(system, options, Method::exact).forces, forces_by(system, options, Method::magnitudes).forces};
}

/// What C and F promise for a sum of n terms: n 2^-47 sum |f| and n 2^(LARGE_SHIFT - 48); nothing for others.
std::optional<double> of_bound(Method method, const ForceResult& result, const ExactForces& exact, std::int64_t terms) {
  if (method != Method::takahashi && method != Method::narumi) return std::nullopt;
  double largest = 0;
  for (std::size_t k = 0; k < result.forces.size(); ++k) {
    const double bound = method == Method::narumi ? std::ldexp(double(terms), -result.exponent)
                                                  : std::ldexp(double(terms) * exact.magnitudes[k], -47);
    const double error = std::abs(result.forces[k] - exact.forces[k]);
    if (bound > 0 || error > 0) largest = std::max(largest, error / bound);
  }
  return largest;
}

void measure_times(const System& system, const ForceStudyOptions& options, std::vector<ForceMeasurement>& rows) {
  std::vector<PairForces> all;
  std::vector<std::vector<double>> seconds(rows.size());
  for (const ForceMeasurement& row : rows) {
    ForceOptions with = options.forces;
    with.method = row.method;
    all.emplace_back(system, with).compute(system.positions, system.box);  // finds its scale
  }
  take_turns(options.repeats, rows.size(),
             [&](std::size_t n) { seconds[n].push_back(all[n].compute(system.positions, system.box).pass_seconds); });
  for (std::size_t n = 0; n < rows.size(); ++n) {
    rows[n].seconds = *std::min_element(seconds[n].begin(), seconds[n].end());
    rows[n].pairs_per_second = double(system.size()) * double(system.size()) / rows[n].seconds;
  }
}

}  // namespace

std::array<double, 3> total_force(const ForceResult& result) {
  double largest = 0;
  for (const double f : result.forces) largest = std::max(largest, std::abs(f));
  // Less than 2^90 each: a double has bits left behind below 2^-37 of the last of the largest.
  const int exponent = !result.quanta.empty() ? result.exponent : largest > 0 ? 89 - std::ilogb(largest) : 0;
  std::array<double, 3> out{};
  for (std::size_t k = 0; k < 3; ++k) {
    __int128 total = 0;
    for (std::size_t n = k; n < result.forces.size(); n += 3) {
      total += result.quanta.empty() ? __int128(std::ldexp(result.forces[n], exponent)) : __int128(result.quanta[n]);
    }
    out[k] = std::ldexp(double(total), -exponent);
  }
  return out;
}

std::vector<ForceMeasurement> measure_forces(const System& system, const ForceStudyOptions& options) {
  const std::vector<double> reference = forces_by(system, options.forces, Method::double_double).forces;
  const bool host = options.forces.backend == nullptr || options.forces.backend->host_memory();
  std::optional<ExactForces> exact;
  if (options.accumulation && host) exact = exact_forces(system, options.forces);
  std::vector<ForceMeasurement> rows;
  for (const Method method : options.methods) {
    const ForceResult result = forces_by(system, options.forces, method, true);
    ForceMeasurement row;
    row.method = method;
    row.error = relative_error(result.forces, reference, std::size_t(system.size()));
    if (system.solute > 0) {
      row.solute_error = relative_error(result.forces, reference, std::size_t(system.solute));
    }
    row.largest_error = largest_error(result.forces, reference);
    row.offset = offset_of(result);
    row.large_shift = (method == Method::narumi_constant ? 46 : 48) - result.exponent;
    if (exact) row.accumulation = of_bound(method, result, *exact, system.size());
    row.energy = result.energy;
    row.forces = result.forces;
    rows.push_back(row);
  }
  if (options.repeats > 0) measure_times(system, options, rows);
  return rows;
}

}  // namespace quadrille::md
