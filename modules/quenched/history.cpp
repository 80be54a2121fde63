#include "modules/quenched/history.h"

#include "modules/quenched/autocorrelation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace quadrille::quenched {

namespace {

using Json = nlohmann::ordered_json;

/// Mean and error over the sweeps after the thermalization. Where no error can be given it is null, and `unreliable`
/// says of what.
Json mean_json(const char* what, const std::vector<double>& history, const Plan& plan,
               std::vector<std::string>& unreliable) {
  const ChainMean mean = chain_mean({history.begin() + std::ptrdiff_t(plan.thermalization), history.end()});
  if (!mean.reliable) unreliable.emplace_back(what);
  const auto number = [&](double x) { return mean.reliable ? Json(x) : Json(nullptr); };
  return {{"mean", mean.mean},
          {"error", number(mean.error)},
          {"tau_int", number(mean.tau_int)},
          {"tau_int_error", number(mean.tau_int_error)},
          {"window", mean.window},
          {"sweeps", mean.count}};
}

Json acceptance_json(const HeatbathCounts& counts) {
  const auto ratio = [](std::int64_t draws, std::int64_t attempts) {
    return attempts > 0 ? Json(double(draws) / double(attempts)) : Json(nullptr);
  };
  const double creutz = counts.draws > 0 ? double(counts.creutz_draws) / double(counts.draws) : 0;
  return {{"kennedy_pendleton", ratio(counts.draws - counts.creutz_draws, counts.attempts - counts.creutz_attempts)},
          {"creutz", ratio(counts.creutz_draws, counts.creutz_attempts)},
          {"fraction_by_creutz", creutz}};
}

}  // namespace

void History::add(const PureGauge& gauge) {
  const std::array<double, 6> planes = gauge.planes();
  const Complex loop = gauge.polyakov_loop();
  plaquette.push_back(plaquette_of(planes));
  spatial.push_back(spatial_plaquette_of(planes));
  temporal.push_back(temporal_plaquette_of(planes));
  loop_re.push_back(loop.real());
  loop_im.push_back(loop.imag());
}

std::vector<double> History::loop_magnitude() const {
  std::vector<double> out;
  for (std::size_t i = 0; i < loop_re.size(); ++i) out.push_back(std::hypot(loop_re[i], loop_im[i]));
  return out;
}

Json report(const TaskContext& context, const History& history, const HeatbathCounts& counts, const Plan& plan) {
  Json out;
  std::vector<std::string> unreliable;
  std::size_t means = 0;
  const auto mean = [&](const char* what, const std::vector<double>& seen) {
    ++means;
    return mean_json(what, seen, plan, unreliable);
  };
  out["plaquette"] = mean("plaquette", history.plaquette);
  if (plan.action.xi0 != 1) {
    out["plaquette_spatial"] = mean("spatial plaquette", history.spatial);
    out["plaquette_temporal"] = mean("temporal plaquette", history.temporal);
  }
  out["polyakov_loop"] = {{"re", mean("real part of the Polyakov loop", history.loop_re)},
                          {"im", mean("imaginary part of the Polyakov loop", history.loop_im)},
                          {"abs", mean("magnitude of the Polyakov loop", history.loop_magnitude())}};
  if (!unreliable.empty()) {
    const std::size_t sweeps = history.plaquette.size() - std::size_t(plan.thermalization);
    context.warn(
        fmt::format("only {} sweep{} after thermalization: no error estimate{}", sweeps, sweeps == 1 ? "" : "s",
                    unreliable.size() == means ? "" : fmt::format(" of the {}", fmt::join(unreliable, ", the "))));
  }
  out["acceptance"] = acceptance_json(counts);
  return out;
}

Json history_json(const History& history, const Plan& plan) {
  Json out = {{"first_sweep", plan.first}, {"plaquette", history.plaquette}};
  if (plan.action.xi0 != 1) {
    out["plaquette_spatial"] = history.spatial;
    out["plaquette_temporal"] = history.temporal;
  }
  out["polyakov_loop"] = {{"re", history.loop_re}, {"im", history.loop_im}};
  return out;
}

}  // namespace quadrille::quenched
