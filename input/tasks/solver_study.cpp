#include "input/tasks/solver_study.h"

#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "dirac/registry.h"
#include "dirac/systems/even_odd.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/run/progress.h"
#include "input/run/stop_signal.h"
#include "input/sources/right_hand_sides.h"
#include "input/tasks/checks.h"
#include "input/tasks/study_rows.h"
#include "solvers/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

/// The operator of the task at one of its masses.
Parameters operator_at(const TaskSpec& task, const Parameters::Item& mass) {
  return task.op->replaced("kappa", "mass", mass);
}

OperatorForm outer_form(const TaskSpec& task) {
  return {Precision::Double, parse_reconstruct(task.parameters->text("reconstruct")), false};
}

void check_study(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  gather(errors, [&] { check_right_hand_sides(task.parameters->group("source"), dims); });
  const OperatorEntry& entry = find_operator(task.op->text("type"));
  for (const auto& mass : task.parameters->list("masses")) {
    gather(errors, [&] { entry.check(operator_at(task, mass)); });
  }
}

void check_study_links(const TaskSpec& task, const LoadedGauge& gauge, Backend&, std::vector<Error>& errors) {
  check_outer_form(outer_form(task), task.parameters->where("reconstruct"), *task.op, gauge, errors);
}

/// A method of `solvers` with the parameters that were given: "gcr restart_length 32".
std::string method_name(const Parameters& method) {
  const std::string given = method.given_text({"type"});
  return method.text("type") + (given.empty() ? "" : " ") + given;
}

/// Every way to solve with one method, at one tolerance. Uniform double comes first: it is what the others are compared
/// with.
std::vector<SolverSpec> ways_to_solve(const Parameters& study, const Parameters& method, double tolerance) {
  std::vector<SolverSpec> out;
  SolverSpec spec;
  spec.type = method.text("type");
  spec.own = method;
  spec.tolerance = tolerance;
  spec.max_iterations = int(study.integer("max_iterations"));
  spec.reconstruct = parse_reconstruct(study.text("reconstruct"));
  spec.scheme = Scheme::uniform;
  out.push_back(spec);
  for (const std::string& scheme : study.text_list("schemes")) {
    spec.scheme = parse_scheme(scheme);
    for (const auto& sloppy : study.group_list("sloppy")) {
      spec.sloppy = operator_form(*sloppy);
      for (const double delta : study.real_list("deltas")) {
        spec.delta = delta;
        spec.delta = delta_used(spec);  // what would be the same solves is one row
        const bool is_new = std::none_of(out.begin(), out.end(), [&](const SolverSpec& other) {
          return other.scheme == spec.scheme && other.sloppy == spec.sloppy && other.delta == spec.delta;
        });
        if (is_new) out.push_back(spec);
      }
    }
  }
  return out;
}

constexpr std::chrono::seconds between_keeping(1);

/// The work of one task: its rows, one after the other.
class Study {
 public:
  Study(JobRun& job, const TaskSpec& task)
      : job_(job),
        task_(task),
        study_(*task.parameters),
        sources_(int(study_.group("source").integer("count"))),
        line_(task.name, total()),
        earlier_(job.unfinished(task)),
        so_far_(earlier_.is_null() ? Json::array() : earlier_) {
    if (!earlier_.empty()) log().info("{}: {} rows were solved by an earlier run", task.name, earlier_.size());
  }

  void run() {
    // The first conversion to temporal gauge would count among the setups otherwise.
    const auto sloppy = study_.group_list("sloppy");
    if (std::any_of(sloppy.begin(), sloppy.end(), [](const auto& s) { return s->boolean("temporal_gauge"); })) {
      temporal_gauge_ = job_.gauge().links->temporal_gauge();
    }
    try {
      for (const auto& mass : study_.list("masses")) run_mass(mass);
    } catch (const Stopped&) {
      job_.keep_unfinished(task_, so_far_);
      throw;
    }
  }

  const std::vector<StudyRow>& rows() const { return rows_; }

 private:
  int total() const {
    std::size_t ways = 0;
    for (const auto& method : study_.group_list("solvers")) ways += ways_to_solve(study_, *method, 0.5).size();
    return int(study_.list("masses").size() * study_.list("tolerances").size() * ways) * sources_ *
           int(study_.integer("repeats"));
  }

  void run_mass(const Parameters::Item& mass) {
    const Parameters op = operator_at(task_, mass);
    const std::shared_ptr<const DiracOperator> dirac = find_operator(op.text("type")).make(job_.gauge().links, op);
    for (const double tolerance : study_.real_list("tolerances")) {
      for (const auto& method : study_.group_list("solvers")) {
        for (const SolverSpec& spec : ways_to_solve(study_, *method, tolerance)) run_row(dirac, *method, spec);
      }
    }
  }

  void run_row(const std::shared_ptr<const DiracOperator>& dirac, const Parameters& method, const SolverSpec& spec) {
    StudyRow row{dirac->mass(), dirac->kappa(), method_name(method), spec, 0, {}};
    if (rows_.size() < earlier_.size()) {
      restore_solved(row, earlier_.at(rows_.size()));
    } else {
      solve(row, EvenOddSystem(dirac, row.spec.preconditioning));
    }
    log_row(row);
    rows_.push_back(std::move(row));
    keep();
  }

  void solve(StudyRow& row, const EvenOddSystem& system) {
    const JobClock::Span setup = job_.count(Phase::setup);
    Field b(system.full_desc()), x(system.full_desc());
    make_right_hand_side(b, study_.group("source"), 0);
    warm_up(system, row.spec, x, b);
    const auto begin = std::chrono::steady_clock::now();
    SystemSolver solver(system, row.spec);
    row.setup_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    solver.set_progress([this](const Progress& progress) {
      if (line_.active()) line_.update(progress);
      stop_if_asked(fmt::format("after {} rows", rows_.size()));
    });
    for (int k = 0; k < sources_; ++k) {
      if (k > 0) make_right_hand_side(b, study_.group("source"), k);
      line_.begin_solve();
      const JobClock::Span solving = job_.count(Phase::solves);
      SolveReport report = solver.solve(x, b);
      for (int repeat = 1; repeat < study_.integer("repeats"); ++repeat) {
        line_.begin_solve();
        report.seconds = std::min(report.seconds, solver.solve(x, b).seconds);  // all else is the same
      }
      if (k > 0) report.history.clear();
      if (k == 0) thin_history(report.history);
      row.reports.push_back(std::move(report));
    }
  }

  /// Kernels are tuned when they are first used, and memory is mapped: neither counts among the seconds of a solve.
  static void warm_up(const EvenOddSystem& system, SolverSpec spec, Field& x, const Field& b) {
    spec.max_iterations = std::min(spec.max_iterations, 30);
    (void)SystemSolver(system, spec).solve(x, b);
  }

  /// A study may take hours: what is solved is kept for a run that follows when this one is interrupted.
  void keep() {
    if (rows_.size() <= earlier_.size()) return;
    so_far_.push_back(solved_json(rows_.back()));
    const auto now = std::chrono::steady_clock::now();
    if (now - kept_ < between_keeping) return;
    job_.keep_unfinished(task_, so_far_);
    kept_ = now;
  }

  void log_row(const StudyRow& row) {
    for (const SolveReport& report : row.reports) {
      if (report.converged) continue;
      job_.warn(fmt::format("{}: {} ({})", row_name(row), report.message, to_string(report.stop_reason)));
      return;
    }
    const Json relative = iteration_ratio(row, rows_);
    log().info("{}: {}: {:.1f} iterations{}, {:.2f} s", task_.name, row_name(row), mean_iterations(row),
               relative.is_null() ? "" : fmt::format(" ({:.3f} of uniform double)", relative.get<double>()),
               row.reports.front().seconds);
  }

  JobRun& job_;
  const TaskSpec& task_;
  const Parameters& study_;
  int sources_;
  ProgressLine line_;
  std::shared_ptr<const TemporalGauge> temporal_gauge_;  ///< made once for all rows
  Json earlier_;                                         ///< rows that an interrupted run solved
  Json so_far_;                                          ///< all that are solved
  std::chrono::steady_clock::time_point kept_ = std::chrono::steady_clock::now();
  std::vector<StudyRow> rows_;
};

Json histories(const Parameters& study, const std::vector<StudyRow>& rows) {
  Json out = Json::array();
  const std::string& wanted = study.text("histories");
  const std::vector<double> masses = study.real_list("masses");
  const double lightest = *std::min_element(masses.begin(), masses.end());
  for (const StudyRow& row : rows) {
    if (wanted == "all" || (wanted == "lightest" && row.mass == lightest)) out.push_back(study_history(row));
  }
  return out;
}

void run_study(JobRun& job, const TaskSpec& task) {
  Study study(job, task);
  study.run();
  const Json rows = study_json(study.rows());
  const std::string& csv = task.parameters->text("csv");
  job.folder().write_output(csv, csv_of_rows(rows));
  job.record().files.push_back(csv);
  job.record().blocks["studies"] = {
      {"source", task.parameters->group("source").text("type")},
      {"csv", csv},
      {"rows", rows},
      {"histories", histories(*task.parameters, study.rows())},
  };
}

Parameter list_of(Parameter element, std::string name, std::string help, const char* default_text) {
  Parameter list;
  list.name = std::move(name);
  list.type = ParameterType::list;
  list.help = std::move(help);
  element.default_text.reset();
  list.element = {std::move(element)};
  if (default_text) {
    list.default_text = default_text;
  } else {
    list.required = true;
  }
  return list;
}

Parameter choice_of(std::vector<std::string> choices) {
  return {.name = "choice", .type = ParameterType::choice, .choices = std::move(choices)};
}

ParameterTable make_table() {
  Parameter reconstruct = solver_parameter("reconstruct");
  reconstruct.default_text = "12";
  reconstruct.help += "; uniform double is fastest with 12, single-precision gauge files need 18";
  const Parameter mass{.name = "mass", .type = ParameterType::real, .unit = "1/a"};

  ParameterTable table;
  table.name = "task solver_study";
  table.help = "solve the same systems in many ways: iterations, time to solution, speed-up over uniform double";
  table.parameters = {
      list_of(mass, "masses", "bare quark masses; each replaces the operator's mass or kappa", nullptr),
      list_of(solver_parameter("tolerance"), "tolerances", "targets for |b - M x| / |b|", "[1.0e-10]"),
      list_of(
          method_variant(), "solvers",
          "methods, with parameters of their own where wanted: {type: gcr, restart_length: 32}; each is always run in "
          "uniform double too",
          "[cg, bicgstab]"),
      list_of(choice_of({"reliable", "defect"}), "schemes", "mixed-precision schemes", "[reliable, defect]"),
      list_of(solver_parameter("sloppy"), "sloppy", "inner operators of the schemes",
              "[{precision: half, reconstruct: 12, temporal_gauge: true}, {precision: single, reconstruct: 8, "
              "temporal_gauge: true}, {precision: single, reconstruct: 12, temporal_gauge: true}]"),
      list_of(solver_parameter("delta"), "deltas", solver_parameter("delta").help, "[0.1, 0.01, 0.001]"),
      reconstruct,
      solver_parameter("max_iterations"),
      right_hand_sides(),
      {.name = "repeats",
       .type = ParameterType::integer,
       .help = "how often each solve is repeated; the fastest counts",
       .default_text = "1",
       .minimum = 1,
       .maximum = 1000},
      {.name = "histories",
       .type = ParameterType::choice,
       .help = "masses for which the residual of every iteration is kept, for the first source",
       .default_text = "lightest",
       .choices = {"lightest", "all", "none"}},
      {.name = "csv",
       .type = ParameterType::file_out,
       .help = "the rows as a CSV file",
       .default_text = "solver_study.csv"},
  };
  return table;
}

}  // namespace

TaskEntry solver_study_task() {
  TaskEntry entry;
  entry.name = "solver_study";
  entry.table = make_table();
  entry.needs_operator = true;
  entry.check = check_study;
  entry.check_links = check_study_links;
  entry.run = run_study;
  return entry;
}

}  // namespace quadrille
