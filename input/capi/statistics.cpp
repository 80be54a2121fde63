// Means, errors and fits of a host's measurements, by what averages those of configurations.
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/ensemble/averages.h"
#include "input/ensemble/fits.h"
#include "input/job/blocks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::capi {

namespace {

using Json = nlohmann::ordered_json;

/// That of an entry of `ensemble.fits`, for which the rows need no name.
Parameter fit_parameter() {
  const std::vector<Parameter>& members = ensemble_block().members;
  Parameter fit = std::ranges::find(members, "fits", &Parameter::name)->element.front();
  fit.name = "fit";
  for (Parameter& member : fit.members) {
    if (member.name != "correlator") continue;
    member.required = false;
    member.default_text = "rows";
  }
  return fit;
}

const ParameterTable& statistics_table() {
  static const ParameterTable table{
      .name = "statistics",
      .help = "means and errors of measurements, a row for each configuration",
      .parameters = {{.name = "bin",
                      .type = ParameterType::integer,
                      .help = "configurations in each bin of the jackknife and the bootstrap",
                      .default_text = "1",
                      .minimum = 1},
                     {.name = "bootstrap",
                      .type = ParameterType::integer,
                      .help = "samples for bootstrap errors; 0: none",
                      .default_text = "0",
                      .minimum = 0,
                      .maximum = 1000000},
                     {.name = "seed",
                      .type = ParameterType::integer,
                      .help = "seed of the bootstrap's random numbers",
                      .default_text = "1",
                      .minimum = 0},
                     {.name = "samples",
                      .type = ParameterType::boolean,
                      .help = "also the means without each bin, and of each bootstrap sample",
                      .default_text = "false"},
                     {.name = "effective_mass",
                      .type = ParameterType::boolean,
                      .help = "also the effective mass of rows that are correlators from the source on",
                      .default_text = "false"},
                     fit_parameter()}};
  return table;
}

Measurements rows_of(const double* numbers, std::size_t configurations, std::size_t length) {
  if (configurations == 0 || length == 0) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("there are {} rows of {} numbers: give one of each at least", configurations, length));
  }
  (void)required(numbers, "rows");
  Measurements rows(configurations, std::vector<double>(length));
  for (std::size_t k = 0; k < configurations; ++k) {
    for (std::size_t i = 0; i < length; ++i) {
      rows[k][i] = numbers[k * length + i];
      if (std::isfinite(rows[k][i])) continue;
      throw Error(ErrorCode::numerical, fmt::format("row {}, number {} is not finite: leave this row out", k, i));
    }
  }
  return rows;
}

/// Adds the means of all samples to a list as they are drawn.
OfMeans kept_in(Json& list) {
  return [&list](const std::vector<double>& means) {
    list.push_back(means);
    return means;
  };
}

void add_samples(const Bins& bins, const AverageRules& rules, Json& out) {
  Json& without = out["jackknife_samples"] = Json::array();
  for (std::size_t bin = 0; bins.count() > 1 && bin < bins.count(); ++bin) without.push_back(bins.mean_without(bin));
  if (rules.bootstrap < 2 || bins.count() < 2) return;
  Json& drawn = out["bootstrap_samples"] = Json::array();
  (void)bootstrap_errors(bins, rules.bootstrap, rules.seed, kept_in(drawn));
}

Json statistics(const Parameters& words, const Measurements& rows) {
  const AverageRules rules{std::size_t(words.integer("bin")), int(words.integer("bootstrap")),
                           std::uint64_t(words.integer("seed"))};
  const std::size_t length = rows.front().size();
  if ((words.boolean("effective_mass") || words.has("fit")) && length % 2 != 0) {
    throw Error(
        ErrorCode::invalid_input,
        fmt::format("a correlator has an even number of times, not {}: give all of them, from the source on", length));
  }
  const Bins bins(rows, rules.bin);
  Json out = average_of_rows(rows, rules);
  out["bins"] = bins.count();
  if (words.boolean("samples")) add_samples(bins, rules, out);
  if (words.boolean("effective_mass")) out["effective_mass"] = effective_mass_of_rows(rows, rules);
  if (!words.has("fit")) return out;
  std::string why;
  try {
    out["fit"] = fit_of_rows(words.group("fit"), rows, rules.bin, why);
  } catch (const Error& error) {  // a covariance that cannot be inverted
    if (error.code() != ErrorCode::numerical) throw;
    out["fit"] = nullptr;
    why = error.message();
  }
  if (!why.empty()) out["fit_warning"] = why;
  return out;
}

}  // namespace

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_statistics(quadrille_context* handle, const char* words, const double* numbers,
                                      size_t configurations, size_t length, const char** json) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    *required(json, "the place for the text") = "";
    const auto read = read_words(statistics_table(), words, "statistics");
    context->text = statistics(*read, rows_of(numbers, configurations, length)).dump();
    *json = context->text.c_str();
    return QUADRILLE_DONE;
  });
}
