#include "input/tasks/shifted_solves.h"

#include "core/blas/blas.h"
#include "core/system/log.h"
#include "core/tuning/kernel_log.h"
#include "dirac/registry.h"
#include "dirac/systems/even_odd.h"
#include "input/job/job.h"
#include "input/run/job_run.h"
#include "input/run/progress.h"
#include "input/run/stop_signal.h"
#include "input/sources/right_hand_sides.h"
#include "input/tasks/checks.h"
#include "input/tasks/solve_report.h"
#include "solvers/shifted/shifted_solver.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

void check_shifts(const Parameters& parameters) {
  const auto& shifts = parameters.list("shifts");
  const std::vector<double> values = parameters.real_list("shifts");
  for (std::size_t k = 1; k < shifts.size(); ++k) {
    if (values[k] > values[k - 1]) continue;
    throw Error(ErrorCode::invalid_input,
                fmt::format("shift {} after {}: give the shifts in ascending order", values[k], values[k - 1]),
                shifts[k].where);
  }
}

void check_method(const Parameters& solver) {
  const SolverSpec spec = solver_spec(solver);
  try {
    check_shifted_method(spec);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), solver.where(spec.type != "cg" ? "type" : "scheme"));
  }
}

/// A point must be among the sites that the solver works on.
void check_parity(const TaskSpec& task, const Dims& dims) {
  const Parameters& source = task.parameters->group("source");
  check_right_hand_sides(source, dims);
  if (source.text("type") != "point") return;
  const Dims site = source.integer4("site");
  const bool odd = (site[0] + site[1] + site[2] + site[3]) % 2 != 0;
  const Parity kept = solver_spec(*task.solver).preconditioning.kept;
  if (odd == (kept == Parity::Odd)) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("the site is {}, the solver works on {} ones: choose another site, or "
                          "solver.preconditioning.parity: {}",
                          odd ? "odd" : "even", odd ? "even" : "odd", odd ? "odd" : "even"),
              source.where("site"));
}

void check(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  gather(errors, [&] { check_shifts(*task.parameters); });
  gather(errors, [&] { check_method(*task.solver); });
  gather(errors, [&] { check_parity(task, dims); });
  gather(errors, [&] { find_operator(task.op->text("type")).check(*task.op); });
}

void check_links(const TaskSpec& task, const LoadedGauge& gauge, Backend&, std::vector<Error>& errors) {
  check_outer_form(solver_spec(*task.solver).outer_form(), task.solver->where("reconstruct"), *task.op, gauge, errors);
}

/// The operators, the solver and the solutions, made once for all right-hand sides.
class ShiftedSolves {
 public:
  ShiftedSolves(JobRun& job, const TaskSpec& task)
      : job_(job),
        task_(task),
        spec_(solver_spec(*task.solver)),
        count_(int(task.parameters->group("source").integer("count"))),
        dirac_(find_operator(task.op->text("type")).make(job.gauge().links, *task.op)),
        solver_(EvenOddSystem(dirac_, spec_.preconditioning), spec_, task.parameters->real_list("shifts")),
        full_(dirac_->field_desc()),
        b_(solver_.field_desc()) {
    for (std::size_t k = 0; k < solver_.shifts().size(); ++k) x_.emplace_back(solver_.field_desc());
  }

  void run() {
    ProgressLine line(task_.name, count_);
    solver_.set_progress([&](const Progress& progress) {
      if (line.active()) line.update(progress);
      stop_if_asked(fmt::format("in right-hand side {} of {}", done_ + 1, count_));
    });
    for (done_ = 0; done_ < count_; ++done_) {
      line.begin_solve();
      solve();
    }
    log().info(
        "{}: {} right-hand sides, {} shifts: {} iterations, {} of them of refinement, {:.2f} s, largest true "
        "residual {:.2e}",
        task_.name, count_, x_.size(), iterations_, refining_, seconds_, worst_);
  }

 private:
  void solve() {
    make_right_hand_side(full_, task_.parameters->group("source"), done_);
    blas::copy(b_, full_.parity(spec_.preconditioning.kept));
    const auto earlier = kernel_records();
    const auto begin = std::chrono::steady_clock::now();
    const ShiftedCg::Report report = [&] {
      const JobClock::Span solving = job_.count(Phase::solves);
      return solver_.solve(x_, b_);
    }();
    seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    iterations_ += report.iterations;
    const std::vector<KernelRecord> kernels = kernel_records_since(earlier);
    for (std::size_t k = 0; k < x_.size(); ++k) {
      refining_ += report.refining[k];
      add(k, report, k == 0 ? kernels : std::vector<KernelRecord>{});
    }
  }

  void add(std::size_t k, const ShiftedCg::Report& report, const std::vector<KernelRecord>& kernels) {
    const SolveReport& of_shift = report.shifts[k];
    const double shift = solver_.shifts()[k];
    worst_ = std::max(worst_, of_shift.residual);
    Json entry =
        solve_json({task_.name, 0, 0, dirac_->mass(), dirac_->kappa(), resolved(spec_.preconditioning, *dirac_)}, spec_,
                   of_shift, kernels);
    for (const char* of_a_column : {"spin", "color"}) entry.erase(of_a_column);
    entry["right_hand_side"] = done_;
    entry["shift"] = shift;
    entry["refining_iterations"] = report.refining[k];
    entry["product"] = blas::dot(b_, x_[k]).real();
    job_.record().solves.push_back(std::move(entry));
    if (!of_shift.converged)
      job_.warn(fmt::format("shift {}: {} ({})", shift, of_shift.message, to_string(of_shift.stop_reason)));
  }

  JobRun& job_;
  const TaskSpec& task_;
  SolverSpec spec_;
  int count_, done_ = 0, iterations_ = 0, refining_ = 0;
  double seconds_ = 0, worst_ = 0;
  std::shared_ptr<const DiracOperator> dirac_;
  ShiftedSolver solver_;
  Field full_, b_;
  std::vector<Field> x_;
};

void run_shifted_solves(JobRun& job, const TaskSpec& task) {
  const JobClock::Span setup = job.count(Phase::setup);
  ShiftedSolves(job, task).run();
}

}  // namespace

TaskEntry shifted_solves_task() {
  const Parameter shift{.name = "shift", .type = ParameterType::real, .minimum = 0};
  TaskEntry entry;
  entry.name = "shifted_solves";
  entry.table.name = "task shifted_solves";
  entry.table.help =
      "multishift CG: solve (S^+ S + shift) x = b for all shifts at once, S the even-odd preconditioned operator of "
      "solver.preconditioning, in one Krylov space; tolerance is that of |b - (S^+ S + shift) x| / |b|";
  entry.table.parameters = {{.name = "shifts",
                             .type = ParameterType::list,
                             .help = "added to S^+ S, whose M is in mass normalization; in ascending order",
                             .required = true,
                             .element = {shift}},
                            right_hand_sides()};
  entry.needs_operator = true;
  entry.needs_solver = true;
  entry.check = check;
  entry.check_links = check_links;
  entry.run = run_shifted_solves;
  return entry;
}

}  // namespace quadrille
