#include "input/job/blocks.h"

#include "core/parameters/parameter_values.h"
#include "dirac/registry.h"
#include "input/contractions/gaussian_smearing.h"
#include "input/sources/registry.h"
#include "input/tasks/registry.h"
#include "solvers/registry.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille {

namespace {

using Type = ParameterType;

constexpr const char* solver_by_default = "{type: bicgstab}";

Parameter make_save_group() {
  Parameter save;
  save.name = "save";
  save.type = Type::group;
  save.help = "write the links as an ILDG file with checksum";
  save.members = {{.name = "file", .type = Type::file_out, .help = "name of the file", .required = true},
                  {.name = "precision",
                   .type = Type::choice,
                   .help = "precision of the file",
                   .default_text = "double",
                   .choices = {"single", "double"}}};
  save.shorthand = "file";
  return save;
}

Parameter make_files_list() {
  Parameter files;
  files.name = "files";
  files.type = Type::list;
  files.help =
      "several gauge files: the tasks run on each of them, in the order of the list; a pattern such as b6.0_*.lime "
      "stands for all files that match it, in natural order (b_9 before b_10); see `help ensemble`";
  files.element = {{.name = "file", .type = Type::file_in, .help = "a gauge file, or a pattern with *, ? or [...]"}};
  files.shorthand = "file";
  files.most = 100000;
  return files;
}

Parameter make_gauge_block() {
  const Condition started{"start", {}};
  const Condition from_file{"file|files", {}};
  Parameter block;
  block.name = "gauge";
  block.type = Type::group;
  block.help = "the gauge field: from a file or a start";
  block.members = {
      {.name = "file", .type = Type::file_in, .help = "gauge file: ILDG or SciDAC in LIME, NERSC archive, MILC v5"},
      make_files_list(),
      {.name = "start",
       .type = Type::choice,
       .help = "cold: unit links; hot: random links; weak: exp(i epsilon H) with random Hermitian traceless H",
       .choices = {"cold", "hot", "weak"}},
      {.name = "dims",
       .type = Type::integer4,
       .help = "extents of the lattice in x, y, z, t; a file has its own",
       .required = true,
       .minimum = 2,
       .maximum = 4096,
       .even = true,
       .only_if = {started}},
      {.name = "seed",
       .type = Type::integer,
       .help = "seed of the random numbers; the same seed gives the same links everywhere",
       .default_text = "1",
       .minimum = 0,
       .only_if = {{"start", {"hot", "weak"}}}},
      {.name = "epsilon",
       .type = Type::real,
       .help = "distance of a weak start from unit links",
       .default_text = "0.1",
       .minimum = 0,
       .maximum = 10,
       .only_if = {{"start", {"weak"}}}},
      make_save_group(),
      {.name = "verify_checksum",
       .type = Type::boolean,
       .help = "a wrong checksum is an error (true) or a warning (false)",
       .default_text = "true",
       .only_if = {from_file}},
      {.name = "reunitarize",
       .type = Type::boolean,
       .help = "project the links back to SU(3) after reading them",
       .default_text = "false",
       .only_if = {from_file}},
  };
  block.exactly_one_of = {{"file", "files", "start"}};
  return block;
}

Parameter make_fits_list() {
  Parameter window;
  window.name = "window";
  window.type = Type::list;
  window.help = "first and last time after the source that is fitted, of 0 to T/2";
  window.element = {{.name = "t", .type = Type::integer, .help = "time after the source", .minimum = 0}};
  window.fewest = window.most = 2;
  window.required = true;
  Parameter fit;
  fit.name = "fit";
  fit.type = Type::group;
  fit.help = "a fit of A_1 (exp(-m_1 t) + exp(-m_1 (T - t))), and of a second state, to a correlator folded about T/2";
  fit.members = {
      {.name = "name", .help = "name of the fit in the results; default: that of the correlator"},
      {.name = "correlator",
       .help = "as `correlators` of the results has it, names joined by '/': mesons/pion",
       .required = true},
      window,
      {.name = "states",
       .type = Type::integer,
       .help = "number of states",
       .default_text = "1",
       .minimum = 1,
       .maximum = 2},
      {.name = "correlated",
       .type = Type::boolean,
       .help = "chi^2 with the covariance of the times (true) or with their errors alone; needs many configurations",
       .default_text = "false"},
  };
  Parameter fits;
  fits.name = "fits";
  fits.type = Type::list;
  fits.help = "masses and amplitudes from averaged correlators, with errors by the jackknife";
  fits.element = {fit};
  return fits;
}

Parameter make_ensemble_block() {
  Parameter block;
  block.name = "ensemble";
  block.type = Type::group;
  block.help = "several configurations: those of gauge.files, or those that a task of the job makes";
  block.members = {
      {.name = "from",
       .help = "name of a task that saves configurations, as generate does: the tasks after it work on each of them, "
               "not on the last one only; not with gauge.files"},
      {.name = "on_error",
       .type = Type::choice,
       .help = "what a gauge file that is missing, damaged or of other extents does: stop ends the job; continue goes "
               "on with the others, names it in the results, and the exit status is 1",
       .default_text = "stop",
       .choices = {"stop", "continue"}},
      {.name = "bin",
       .type = Type::integer,
       .help = "configurations in each bin of the jackknife and the bootstrap: some times the autocorrelation time",
       .default_text = "1",
       .minimum = 1},
      {.name = "bootstrap",
       .type = Type::integer,
       .help = "samples for bootstrap errors beside those of the jackknife; 0: none",
       .default_text = "0",
       .minimum = 0,
       .maximum = 1000000},
      {.name = "seed",
       .type = Type::integer,
       .help = "seed of the bootstrap's random numbers",
       .default_text = "1",
       .minimum = 0},
      make_fits_list(),
  };
  return block;
}

Parameter make_modules_block() {
  Parameter block;
  block.name = "modules";
  block.type = Type::list;
  block.help = "shared objects whose tasks the job uses; each needs --allow-module PATH";
  block.element = {{.name = "module", .type = Type::file_in, .help = "path of the shared object"}};
  return block;
}

Parameter make_operator_block() {
  Parameter block;
  block.name = "operator";
  block.type = Type::variant;
  block.help = "the Dirac operator";
  for (const OperatorEntry& entry : operator_registry()) block.entries.push_back({entry.name, entry.table()});
  return block;
}

Parameter make_source_block() {
  Parameter block;
  block.name = "source";
  block.type = Type::variant;
  block.help = "the right-hand side";
  for (const SourceEntry& entry : source_registry()) {
    ParameterTable table = entry.table;
    table.parameters.push_back(smearing_parameter("smearing", "what smears the source in space"));
    block.entries.push_back({entry.name, std::move(table)});
  }
  return block;
}

Parameter make_solver_block() {
  Parameter block = solver_variant();
  block.help = fmt::format("{}; if it is left out: {}", block.help, solver_by_default);
  return block;
}

}  // namespace

Parameter task_block() {
  Parameter block;
  block.name = "run";
  block.type = Type::variant;
  block.help = "a list of tasks, done in this order";
  block.selector = "task";
  for (const TaskEntry* entry : task_registry()) {
    ParameterTable table = entry->table;
    table.parameters.insert(table.parameters.begin(),
                            {.name = "name", .help = "name of the task in the results; default: the task type"});
    if (entry->needs_operator) {
      table.parameters.push_back(operator_block());
      table.parameters.back().help = "the task's own operator instead of the job's";
    }
    if (entry->needs_solver) {
      table.parameters.push_back(solver_block());
      table.parameters.back().help = "the task's own solver instead of the job's";
    }
    block.entries.push_back({entry->name, std::move(table)});
  }
  return block;
}

const Parameter& gauge_block() {
  static const Parameter block = make_gauge_block();
  return block;
}

const Parameter& ensemble_block() {
  static const Parameter block = make_ensemble_block();
  return block;
}

const Parameter& operator_block() {
  static const Parameter block = make_operator_block();
  return block;
}

const Parameter& solver_block() {
  static const Parameter block = make_solver_block();
  return block;
}

std::shared_ptr<const Parameters> default_solver(const Location& where) {
  std::vector<Error> errors;
  return resolve_variant(solver_block(), parse_flow(solver_by_default, where), errors);
}

std::shared_ptr<const Parameters> default_ensemble(const Location& where) {
  std::vector<Error> errors;
  return resolve_variant(ensemble_block(), parse_flow("{}", where), errors);
}

const Parameter& source_block() {
  static const Parameter block = make_source_block();
  return block;
}

const ParameterTable& job_table() {
  static const ParameterTable table{
      "the job",
      "a job file",
      {make_modules_block(), gauge_block(), ensemble_block(), operator_block(), solver_block()},
      {}};
  return table;
}

}  // namespace quadrille
