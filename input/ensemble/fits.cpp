#include "input/ensemble/fits.h"

#include "input/statistics/cosh_fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

/// One entry of ensemble.fits.
struct FitRules {
  std::string name, correlator;
  std::vector<std::int64_t> window;
  int states;
  bool correlated;
  Location where;

  explicit FitRules(const Parameters& asked)
      : name(asked.text(asked.has("name") ? "name" : "correlator")),
        correlator(asked.text("correlator")),
        window(asked.integer_list("window")),
        states(int(asked.integer("states"))),
        correlated(asked.boolean("correlated")),
        where(asked.where()) {}

  /// Of a window without a problem().
  CoshModel model(int extent) const { return {extent, int(window[0]), int(window[1]), states}; }
  /// Why no such fit can be made with so many times and bins; empty when one can.
  std::string problem(int extent, std::size_t bins) const {
    if (window[0] >= window[1] || window[1] > extent / 2) {
      return fmt::format("'window' must be two times after the source, the first one smaller, of 0 to T/2 = {}",
                         extent / 2);
    }
    const CoshModel wanted = model(extent);
    if (wanted.degrees_of_freedom() < 1) {
      return fmt::format("'window' has {} points, and a fit of {} has {} parameters: it needs {} points at least",
                         wanted.points(), states == 1 ? "one state" : "two states", 2 * states, 2 * states + 1);
    }
    if (bins < 2) return "errors need two bins of configurations at least";
    if (correlated && bins <= std::size_t(wanted.points())) {
      return fmt::format(
          "the covariance of {} points needs more than {} bins of configurations, not {}: make 'window' "
          "or 'bin' smaller, or give correlated: false",
          wanted.points(), wanted.points(), bins);
    }
    return {};
  }
};

std::vector<FitRules> rules_of(const Job& job) {
  std::vector<FitRules> out;
  if (!job.ensemble->has("fits")) return out;
  for (const auto& asked : job.ensemble->group_list("fits")) out.emplace_back(*asked);
  return out;
}

/// From the source on, of the configurations that have the correlator; none where nobody has.
Measurements rows_of(const std::vector<CorrelatorRows>& all, const std::string& path) {
  Measurements out;
  for (const CorrelatorRows& one : all) {
    if (one.path != path) continue;
    for (std::vector<double> row : one.rows) {
      if (std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); })) continue;
      std::rotate(row.begin(), row.begin() + one.source_time % std::ptrdiff_t(row.size()), row.end());
      out.push_back(std::move(row));
    }
  }
  return out;
}

/// masses, amplitudes and chi^2 in one list; NaN without a fit.
std::vector<double> listed(const std::optional<CoshFit>& fit, int states) {
  if (!fit) return std::vector<double>(std::size_t(2 * states + 1), std::numeric_limits<double>::quiet_NaN());
  std::vector<double> out = fit->masses;
  out.insert(out.end(), fit->amplitudes.begin(), fit->amplitudes.end());
  out.push_back(fit->chi2);
  return out;
}

/// One bin at least, of the configurations that there are.
std::size_t bins_of(std::size_t configurations, std::size_t bin) {
  return std::max<std::size_t>(configurations / bin, 1);
}

Json known_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json asked_of(const FitRules& rules, std::size_t configurations) {
  return {{"correlator", rules.correlator},
          {"states", rules.states},
          {"window", rules.window},
          {"correlated", rules.correlated},
          {"configurations", configurations}};
}

/// Null with a reason where there is no fit.
Json fitted(const FitRules& rules, const Measurements& rows, std::size_t bin, std::string& why) {
  const int extent = int(rows.front().size());
  why = rules.problem(extent, bins_of(rows.size(), bin));  // before the rows are read at the window's times
  if (!why.empty()) return nullptr;
  const CoshModel model = rules.model(extent);
  Measurements points;
  for (const auto& row : rows) points.push_back(folded(row, model));
  const Bins bins(points, bin);
  const CoshFitter fitter(model, jackknife_covariance(bins), rules.correlated);
  const std::optional<CoshFit> of_all = fitter.fit(bins.mean());
  if (!of_all) {
    why = "no minimum of chi^2 was found";
    return nullptr;
  }
  const Estimates found = jackknife(
      bins, [&](const std::vector<double>& means) { return listed(fitter.fit(means, &*of_all), rules.states); });
  Json out = asked_of(rules, rows.size());
  const int dof = model.degrees_of_freedom();
  out.update({{"chi2", of_all->chi2}, {"dof", dof}, {"chi2_per_dof", of_all->chi2 / dof}});
  for (const char* key : {"masses", "amplitudes"}) out[key] = Json::array();
  const auto estimate = [&](std::size_t k, double value) {
    return Json{{"value", value}, {"error", known_or_null(found.error[k])}};
  };
  const auto states = std::size_t(rules.states);
  for (std::size_t n = 0; n < states; ++n) {
    out["masses"].push_back(estimate(n, of_all->masses[n]));
    out["amplitudes"].push_back(estimate(states + n, of_all->amplitudes[n]));
  }
  if (!std::isfinite(found.error[0])) why = "a jackknife sample has no minimum of chi^2: no errors";
  return out;
}

std::string no_correlator(const FitRules& rules, const std::vector<CorrelatorRows>& all) {
  std::vector<std::string> paths;
  for (const CorrelatorRows& one : all) paths.push_back(one.path);
  if (std::find(paths.begin(), paths.end(), rules.correlator) != paths.end()) {
    return "no configuration has all numbers of the correlator";
  }
  return fmt::format("there is no correlator '{}'; there {}", rules.correlator,
                     paths.empty() ? "is none" : fmt::format("are {}", fmt::join(paths, ", ")));
}

}  // namespace

void check_fits(const Job& job, int extent, std::size_t configurations, std::vector<Error>& errors) {
  const std::size_t bins = bins_of(configurations, std::size_t(job.ensemble->integer("bin")));
  std::map<std::string, Location> names;
  for (const FitRules& rules : rules_of(job)) {
    const std::string problem = rules.problem(extent, bins);
    if (!problem.empty()) errors.emplace_back(ErrorCode::invalid_input, "'ensemble.fits': " + problem, rules.where);
    const auto [twin, is_new] = names.emplace(rules.name, rules.where);
    if (is_new) continue;
    errors.emplace_back(ErrorCode::invalid_input,
                        fmt::format("'ensemble.fits': a fit named '{}' exists already ({}): give this one a 'name'",
                                    rules.name, to_string(twin->second)),
                        rules.where);
  }
}

Json fit_of_rows(const Parameters& asked, const Measurements& rows, std::size_t bin, std::string& why) {
  const FitRules rules(asked);
  const std::string problem = rules.problem(int(rows.front().size()), bins_of(rows.size(), bin));
  if (!problem.empty()) throw Error(ErrorCode::invalid_input, problem, rules.where);
  return fitted(rules, rows, bin, why);
}

Json fits(const Job& job, const std::vector<Json>& results, const AverageRules& rules,
          std::vector<std::string>& warnings) {
  Json out = Json::object();
  const std::vector<CorrelatorRows> all = correlator_rows(results);
  for (const FitRules& one : rules_of(job)) {
    const Measurements rows = rows_of(all, one.correlator);
    std::string why;
    Json& fit = out[one.name];
    try {
      if (rows.empty()) {
        why = no_correlator(one, all);
      } else {
        fit = fitted(one, rows, rules.bin, why);
      }
    } catch (const Error& error) {
      if (error.code() != ErrorCode::numerical) throw;
      why = error.message();
    }
    if (!why.empty()) warnings.push_back(fmt::format("fit {}: {}", one.name, why));
  }
  return out;
}

}  // namespace quadrille
