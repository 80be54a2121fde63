#include "input/ensemble/averages.h"

#include "input/tasks/pion_mass.h"
#include "modules/quenched/autocorrelation.h"
#include "modules/shared/plugin/results_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* mass_key = "effective_mass";

/// A site or a momentum, which may have as many numbers as the lattice times.
bool is_place(const std::string& key) { return key == "source" || key == "momentum" || key == "sink_momentum"; }

/// A number, or null where there is none.
Json known(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json known(const std::vector<double>& values) {
  Json out = Json::array();
  for (const double value : values) out.push_back(known(value));
  return out;
}

bool is_number_or_null(const Json& value) { return value.is_number() || value.is_null(); }

/// A list of as many numbers as the lattice has times; null stands for one that is not known.
bool is_over_t(const Json& value, std::size_t extent) {
  return value.is_array() && value.size() == extent && std::all_of(value.begin(), value.end(), is_number_or_null);
}

/// The same place in the results of all configurations; null in some of them.
using Everywhere = std::vector<const Json*>;

const Json& none() {
  static const Json null;
  return null;
}

template <class Key>
Everywhere inside(const Everywhere& places, const Key& key) {
  Everywhere out;
  for (const Json* place : places) {
    bool has = false;
    if constexpr (std::is_convertible_v<Key, std::string>) {
      has = place->is_object() && place->contains(key);
    } else {
      has = place->is_array() && key < place->size();
    }
    out.push_back(has ? &place->at(key) : &none());
  }
  return out;
}

/// One that is not null, whose structure stands for all.
const Json& typical(const Everywhere& places) {
  for (const Json* place : places) {
    if (!place->is_null()) return *place;
  }
  return none();
}

std::size_t extent_of(const std::vector<Json>& results) { return results.front().at("lattice").at("dims").at(3); }

Everywhere correlators_of(const std::vector<Json>& results) {
  Everywhere out;
  for (const Json& one : results) out.push_back(one.contains("correlators") ? &one.at("correlators") : &none());
  return out;
}

int source_time_of(const Json& entry, int otherwise) {
  return entry.contains("source_time") && entry.at("source_time").is_number_integer()
             ? entry.at("source_time").get<int>()
             : otherwise;
}

std::vector<double> numbers(const Json& list) {
  std::vector<double> out;
  for (const Json& value : list) {
    out.push_back(value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN());
  }
  return out;
}

/// What is asked of every average.
struct Averaging {
  const AverageRules& rules;
  std::size_t extent;  ///< of t

  Json of_rows(const Measurements& rows) const {
    const Bins bins(rows, rules.bin);
    Json out = {{"configurations", rows.size()}};
    out.update(of_function(bins, themselves));
    add_autocorrelation(rows, out);
    return out;
  }

  /// {mean, error, bootstrap_error}
  Json of_function(const Bins& bins, const OfMeans& function) const {
    const Estimates found = jackknife(bins, function);
    Json out = {{"mean", known(found.value)}, {"error", known(found.error)}};
    if (rules.bootstrap > 0) {
      out["bootstrap_error"] = known(bootstrap_errors(bins, rules.bootstrap, rules.seed, function));
    }
    return out;
  }

  static void add_autocorrelation(const Measurements& rows, Json& out) {
    std::vector<double> tau, tau_error, error, window;
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
      std::vector<double> history;
      for (const auto& row : rows) history.push_back(row[i]);
      const quenched::ChainMean seen = quenched::chain_mean(history);
      tau.push_back(seen.tau_int);
      tau_error.push_back(seen.tau_int_error);
      error.push_back(seen.error);
      window.push_back(seen.reliable ? double(seen.window) : std::numeric_limits<double>::quiet_NaN());
    }
    out["tau_int"] = known(tau);
    out["tau_int_error"] = known(tau_error);
    out["gamma_error"] = known(error);
    out["window"] = known(window);
  }

  /// Of the configurations that have all numbers, each row from `source_time` on.
  Json of_list(const Everywhere& places, const std::vector<int>& source_times) const {
    const Measurements rows = rows_of(places, source_times);
    return rows.empty() ? Json(nullptr) : of_rows(rows);
  }

  Json effective_mass(const Everywhere& places, const std::vector<int>& source_times) const {
    const Measurements rows = rows_of(places, source_times);
    return rows.empty() ? Json(nullptr) : effective_mass_of(rows);
  }

  Json effective_mass_of(const Measurements& rows) const {
    // A channel may have either sign.
    return of_function(Bins(rows, rules.bin), [](std::vector<double> mean) {
      const double sign = mean[1] < 0 ? -1 : 1;
      for (double& value : mean) value *= sign;
      return effective_masses(mean, 0);
    });
  }

  Measurements rows_of(const Everywhere& places, const std::vector<int>& source_times) const {
    Measurements rows;
    for (std::size_t k = 0; k < places.size(); ++k) {
      if (!is_over_t(*places[k], extent)) continue;
      std::vector<double> row = numbers(*places[k]);
      if (std::any_of(row.begin(), row.end(), [](double value) { return std::isnan(value); })) continue;
      const auto source = std::size_t(source_times[k]) % extent;
      std::rotate(row.begin(), row.begin() + std::ptrdiff_t(source), row.end());
      rows.push_back(std::move(row));
    }
    return rows;
  }

  Json of_tree(const Everywhere& places, std::vector<int> source_times) const {
    const Json& shape = typical(places);
    if (is_over_t(shape, extent)) return of_list(places, source_times);
    if (shape.is_array()) return of_array(places, shape, source_times);
    if (!shape.is_object()) return same_everywhere_or_null(places);
    for (std::size_t k = 0; k < places.size(); ++k) source_times[k] = source_time_of(*places[k], source_times[k]);
    Json out = Json::object();
    for (const auto& [key, value] : shape.items()) {
      if (key == mass_key) continue;
      const Everywhere there = inside(places, key);
      out[key] = is_place(key) ? same_everywhere_or_null(there) : of_tree(there, source_times);
    }
    if (shape.contains(mass_key)) {
      const Everywhere lists = lists_beside(places, shape);
      if (!lists.empty()) out[mass_key] = effective_mass(lists, source_times);
    }
    return out;
  }

  Json of_array(const Everywhere& places, const Json& shape, const std::vector<int>& source_times) const {
    if (!std::any_of(shape.begin(), shape.end(), [](const Json& one) { return one.is_structured(); })) {
      return same_everywhere_or_null(places);
    }
    Json out = Json::array();
    for (std::size_t k = 0; k < shape.size(); ++k) out.push_back(of_tree(inside(places, k), source_times));
    return out;
  }

  /// The lists whose effective masses stand in the same map: `pion`, the only one, or that of a channel at rest, the
  /// first of its `correlators`; none where it is not clear.
  Everywhere lists_beside(const Everywhere& places, const Json& map) const {
    std::vector<std::string> lists;
    for (const auto& [key, value] : map.items()) {
      if (key != mass_key && !is_place(key) && is_over_t(value, extent)) lists.push_back(key);
    }
    if (std::find(lists.begin(), lists.end(), "pion") != lists.end()) return inside(places, std::string("pion"));
    if (lists.size() == 1) return inside(places, lists.front());
    Everywhere at_rest = inside(inside(inside(places, std::string("correlators")), std::size_t(0)), std::string("re"));
    return is_over_t(typical(at_rest), extent) ? at_rest : Everywhere();
  }

  static Json same_everywhere_or_null(const Everywhere& places) {
    const Json& first = typical(places);
    const bool same = std::all_of(places.begin(), places.end(),
                                  [&](const Json* place) { return place->is_null() || *place == first; });
    return same ? first : Json(nullptr);
  }
};

/// {mean: [x], ...} of a row of one number as {mean: x, ...}.
Json without_lists(Json averages) {
  for (auto& [key, value] : averages.items()) {
    if (value.is_array()) value = Json(value.at(0));
  }
  return averages;
}

Json plaquette_average(const std::vector<Json>& results, const Averaging& averaging) {
  Measurements rows;
  for (const Json& one : results) {
    if (one.contains("gauge") && one.at("gauge").contains("plaquette") && one.at("gauge").at("plaquette").is_number()) {
      rows.push_back({one.at("gauge").at("plaquette").get<double>()});
    }
  }
  return rows.empty() ? Json(nullptr) : without_lists(averaging.of_rows(rows));
}

bool is_list_of_numbers(const Json& value) {
  return value.is_array() && !value.empty() && std::all_of(value.begin(), value.end(), is_number_or_null);
}

/// Of numbers, or lists of them, that differ between configurations.
Json number_average(const Everywhere& places, const Json& shape, const Averaging& averaging) {
  const std::size_t length = shape.is_array() ? shape.size() : 1;
  Measurements rows;
  for (const Json* place : places) {
    const std::vector<double> row = numbers(place->is_array() ? *place : Json::array({*place}));
    if (place->is_array() != shape.is_array() && !place->is_null()) return nullptr;
    if (place->is_array() && row.size() != length) return nullptr;
    if (std::none_of(row.begin(), row.end(), [](double value) { return std::isnan(value); })) rows.push_back(row);
  }
  if (rows.empty()) return nullptr;
  const Json found = averaging.of_rows(rows);
  return shape.is_array() ? found : without_lists(found);
}

bool is_time_taken(const std::string& key) { return key.starts_with("seconds"); }

/// A tree of numbers of any kind; times that the program took are left out.
Json numbers_average(const Everywhere& places, const Averaging& averaging) {
  const Json& shape = typical(places);
  const bool differs = std::any_of(places.begin(), places.end(), [&](const Json* place) { return *place != shape; });
  if (shape.is_object()) {
    Json out = Json::object();
    for (const auto& [key, value] : shape.items()) {
      if (!is_time_taken(key)) out[key] = numbers_average(inside(places, key), averaging);
    }
    return out;
  }
  if (!differs) return shape;
  if (shape.is_number() || is_list_of_numbers(shape)) return number_average(places, shape, averaging);
  if (!shape.is_array()) return nullptr;
  Json out = Json::array();
  for (std::size_t k = 0; k < shape.size(); ++k) out.push_back(numbers_average(inside(places, k), averaging));
  return out;
}

/// Appends the lists over t below `places`.
void collect_rows(const Everywhere& places, std::size_t extent, const std::string& path, int source_time,
                  std::vector<CorrelatorRows>& out) {
  const Json& shape = typical(places);
  if (is_over_t(shape, extent)) {
    CorrelatorRows found{path, source_time, {}};
    for (const Json* place : places) {
      found.rows.push_back(is_over_t(*place, extent)
                               ? numbers(*place)
                               : std::vector<double>(extent, std::numeric_limits<double>::quiet_NaN()));
    }
    out.push_back(std::move(found));
    return;
  }
  const std::string before = path.empty() ? path : path + "/";
  if (shape.is_object()) {
    source_time = source_time_of(shape, source_time);
    for (const auto& [key, value] : shape.items()) {
      if (key != mass_key && !is_place(key)) collect_rows(inside(places, key), extent, before + key, source_time, out);
    }
  } else if (shape.is_array()) {
    for (std::size_t k = 0; k < shape.size(); ++k) {
      collect_rows(inside(places, k), extent, before + std::to_string(k), source_time, out);
    }
  }
}

}  // namespace

Json average_of_rows(const Measurements& rows, const AverageRules& rules) {
  return Averaging{rules, rows.front().size()}.of_rows(rows);
}

Json effective_mass_of_rows(const Measurements& rows, const AverageRules& rules) {
  return Averaging{rules, rows.front().size()}.effective_mass_of(rows);
}

bool is_averaged_block(const std::string& block) { return !is_program_block(block) || block == "critical_masses"; }

Json averages(const std::vector<Json>& results, const AverageRules& rules) {
  const Averaging averaging{rules, extent_of(results)};
  const std::size_t bins = std::max<std::size_t>(results.size() / rules.bin, 1);
  Json out = {{"configurations", results.size()}, {"bin", rules.bin}, {"bins", bins}};
  if (rules.bootstrap > 0) out["bootstrap"] = {{"samples", rules.bootstrap}, {"seed", rules.seed}};
  out["plaquette"] = plaquette_average(results, averaging);
  const Json tree = averaging.of_tree(correlators_of(results), std::vector<int>(results.size(), 0));
  out["correlators"] = tree.is_object() ? tree : Json::object();
  for (const auto& [block, value] : results.front().items()) {
    if (!is_averaged_block(block)) continue;
    Everywhere places;
    for (const Json& one : results) places.push_back(one.contains(block) ? &one.at(block) : &none());
    out["blocks"][block] = numbers_average(places, averaging);
  }
  return out;
}

std::vector<CorrelatorRows> correlator_rows(const std::vector<Json>& results) {
  std::vector<CorrelatorRows> out;
  collect_rows(correlators_of(results), extent_of(results), "", 0, out);
  return out;
}

}  // namespace quadrille
