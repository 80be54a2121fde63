// What a job asks of a chain.
#pragma once

#include "modules/quenched/pure_gauge.h"
#include "modules/shared/plugin/task.h"

#include <cstdint>
#include <string>

namespace quadrille::quenched {

/// What a job asks for. Sweeps have absolute numbers: `first` is the number of the first one.
struct Plan {
  WilsonGaugeAction action;
  std::int64_t thermalization, configurations, separation, first, reunitarize_every;
  int overrelaxation;
  std::uint64_t seed;
  double keep_every;  ///< seconds
  LinkForm form;
  std::string file;
  int bits = 0;  ///< of a number in the file
  /// Where links come from that say nothing of a chain's sweeps; empty for a start, or when `first` is known.
  std::string unnumbered;

  explicit Plan(const TaskContext& context);

  bool single() const { return form.precision == Precision::Single; }

  std::int64_t sweeps() const { return thermalization + configurations * separation; }
  /// True when a configuration is complete after `done` sweeps.
  bool complete(std::int64_t done) const { return done > thermalization && (done - thermalization) % separation == 0; }
};

/// The name of the file of the configuration after `sweep` sweeps: '#...#' in the pattern is its number.
std::string file_name(const std::string& pattern, std::int64_t sweep);

/// Calls add(name) for each file that the plan will write.
template <class Add>
void for_each_file(const Plan& plan, const Add& add) {
  if (plan.file.empty()) return;
  // A pattern without a number that should have one: check_plan() says so.
  const bool numbered = plan.file.find('#') != std::string::npos;
  for (std::int64_t n = 1; n <= (numbered ? plan.configurations : 1); ++n)
    add(file_name(plan.file, plan.first + plan.thermalization + n * plan.separation));
}

/// Fails, with the parameter that is wrong, for what no chain can do.
void check_plan(const TaskContext& context);

}  // namespace quadrille::quenched
