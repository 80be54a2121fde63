#include "modules/ri_mp2/tasks/study_task.h"

#include "core/backend/backend.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "modules/ri_mp2/tasks/cap_parameters.h"
#include "modules/ri_mp2/tasks/generated_parameter.h"
#include "modules/ri_mp2/tasks/study.h"
#include "modules/ri_mp2/tasks/system_file.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/study_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>

namespace quadrille::ri_mp2 {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// "mgemm" or "double" of what a step says that it did.
std::string first_word(const std::string& form) { return form.substr(0, form.find_first_of(",:")); }

/// One row; ratios to those of double, the first, and of single, the second.
Json row_json(const std::string& name, const System& system, const std::vector<StudyRow>& rows, std::size_t which,
              bool element_errors) {
  const StudyRow& row = rows[which];
  const bool mixed = row.precision == mgemm::ProductPrecision::mgemm;
  const bool compared = element_errors && row.precision != mgemm::ProductPrecision::double_;
  const auto over = [&](std::size_t other, double StudyRow::*seconds) { return rows[other].*seconds / row.*seconds; };
  return {{"system", name},
          {"occupied", system.occupied},
          {"virtual", system.virtuals},
          {"auxiliary", system.auxiliary},
          {"precision", mixed ? "mgemm" : to_string(row)},
          {"delta", known(mixed && (row.target_error == 0 || row.delta > 0), row.delta)},
          {"target_error", known(row.target_error > 0, row.target_error)},
          {"expected_error", known(row.energy.step4.energy_error > 0, row.energy.step4.energy_error)},
          {"step3_form", first_word(row.energy.step3.form)},
          {"step4_form", first_word(row.energy.step4.form)},
          {"large_ia_p", known(mixed && row.target_error == 0, row.large_ia_p)},
          {"large_root", known(mixed && row.target_error == 0, row.large_root)},
          {"large_b", known(mixed && (row.target_error == 0 || row.delta > 0), row.large_b)},
          {"e_corr", row.energy.correlation},
          {"energy_error", row.energy_error},
          {"b_max_error", known(compared, row.b.largest)},
          {"b_rms_error", known(compared, row.b.rms)},
          {"integral_max_error", known(compared, row.integrals.largest)},
          {"integral_rms_error", known(compared, row.integrals.rms)},
          {"streamed_bytes",
           known(row.energy.stream.memory > 0, double(row.energy.step3.streamed + row.energy.step4.streamed))},
          {"metric_seconds", row.metric_seconds},
          {"step3_seconds", row.step3_seconds},
          {"step4_seconds", row.step4_seconds},
          {"energy_seconds", row.energy_seconds},
          {"seconds", row.seconds},
          {"step3_gflops", row.energy.step3.flops / row.step3_seconds * 1e-9},
          {"step4_gflops", row.energy.step4.flops / row.step4_seconds * 1e-9},
          {"step3_speedup", over(0, &StudyRow::step3_seconds)},
          {"step4_speedup", over(0, &StudyRow::step4_seconds)},
          {"speedup", over(0, &StudyRow::seconds)},
          {"step3_of_single", over(1, &StudyRow::step3_seconds)},
          {"step4_of_single", over(1, &StudyRow::step4_seconds)},
          {"of_single", over(1, &StudyRow::seconds)}};
}

StudyOptions study_options(const TaskContext& context) {
  StudyOptions options;
  options.deltas = context.reals("deltas");
  options.target_errors = context.has("target_errors") ? context.reals("target_errors") : std::vector<double>();
  options.always_split = context.boolean("always_split");
  options.element_errors = context.boolean("element_errors");
  options.repeats = int(context.integer("repeats"));
  options.memory = context.integer("memory") << 20;
  options.memory_cap = context.integer("memory_cap") << 20;
  options.backend = &find_backend(context.backend());
  if (options.memory_cap > 0 && options.backend->host_memory()) options.scratch = scratch_of(context);
  return options;
}

/// Studies one system and appends its rows. Of `count` systems it is number `number`.
void study_one(const TaskContext& context, const std::string& name, const System& system, std::size_t number,
               std::size_t count, Json& rows) {
  StudyOptions options = study_options(context);
  options.progress = [&](const std::string& what, double fraction) {
    context.progress_or_stop(name + ", " + what, (double(number) + fraction) / double(count));
  };
  const std::vector<StudyRow> found = study_system(system, options);
  for (std::size_t k = 0; k < found.size(); ++k) {
    const Json row = row_json(name, system, found, k, options.element_errors);
    log().info(
        "{}: {} in {}: energy {:.10f} ({:+.1e}); step 4 {:.3g} s, {:.2f} times as fast as double, {:.2f} times as fast "
        "as single",
        context.task_name(), name, to_string(found[k]), found[k].energy.correlation, found[k].energy_error,
        found[k].step4_seconds, row["step4_speedup"].get<double>(), row["step4_of_single"].get<double>());
    rows.push_back(row);
  }
}

/// A file without its folder and its ending, or as the job names it where others are called the same.
std::vector<std::string> names_of(const std::vector<std::string>& files) {
  std::vector<std::string> stems{"generated"}, names;
  for (const std::string& file : files) stems.push_back(std::filesystem::path(file).stem().string());
  for (std::size_t k = 0; k < files.size(); ++k) {
    const bool alone = std::count(stems.begin(), stems.end(), stems[k + 1]) == 1;
    names.push_back(alone ? stems[k + 1] : files[k]);
  }
  return names;
}

constexpr quadrille_parameter file = file_in("file", nullptr);
constexpr quadrille_parameter delta = real("delta", nullptr, nullptr, at_least(0));
constexpr quadrille_parameter target_error = real("target_error", nullptr, nullptr, above(0));

constexpr quadrille_parameter study_cap() {
  quadrille_parameter out = memory_cap_parameter;
  out.help = "as of the task ri_mp2; 0: what is free, and on a CPU B must fit into it";
  return out;
}

}  // namespace

const quadrille_parameter study_parameters[study_parameter_count] = {
    list("files", "HDF5 files of systems, as for the task ri_mp2", nullptr, file),
    generated_parameter,
    list("deltas", "cutoffs of mgemm for both steps; double and single precision are always run",
         "[1, 0.1, 0.03, 0.01, 0.003]", delta),
    list("target_errors", "target errors of the energy, each for a run with `delta: auto`", nullptr, target_error,
         "Hartree"),
    boolean("always_split", "split products even where mgemm expects no gain", "true"),
    boolean("element_errors",
            "compare all elements of B and all integrals with those in double, which takes one more run of each",
            "true"),
    integer("repeats", "how often each run is timed; the median counts", "3", within(1, 1000)),
    memory("memory for a batch of integrals; as much again for those in double that they are compared with", "1024", 1),
    study_cap(),
    scratch_parameter,
    csv("ri_mp2_study.csv")};

void check_study(const TaskContext& context) {
  check_scratch(context);
  if (context.integer("memory_cap") > 0 && context.has("target_errors") && context.count("target_errors") > 0) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      "with a memory_cap B may not be in memory, but the sample that chooses a cutoff for "
                      "`target_errors` needs all of it: leave one of them out",
                      "target_errors");
  }
  const std::vector<std::string> files = context.input_files("files");
  if (files.empty() && !context.has("generated")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "there is no system to study: give `files` or `generated`");
  }
  for (const std::string& name : files) check_system(Hdf5Reader(name));
}

void run_study(const TaskContext& context) {
  check_study(context);
  const std::vector<std::string> files = context.input_files("files");
  const std::vector<std::string> names = names_of(context.texts("files"));
  const bool generated = context.has("generated");
  const std::size_t count = files.size() + (generated ? 1 : 0);
  Json rows = Json::array();
  for (std::size_t k = 0; k < files.size(); ++k) {
    study_one(context, names[k], read_system(Hdf5Reader(files[k])), k, count, rows);
  }
  if (generated) {
    study_one(context, "generated", generated_system(context), count - 1, count, rows);
  }
  report_study(
      context, "ri_mp2_studies",
      {{"backend", context.backend()}, {"threads", context.threads()}, {"repeats", context.integer("repeats")}}, rows);
}

}  // namespace quadrille::ri_mp2
