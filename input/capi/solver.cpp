// Solvers of the C API, and what their solves did.
#include "core/field/convert.h"
#include "dirac/systems/even_odd.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/job/blocks.h"
#include "input/run/job_run.h"
#include "input/run/progress.h"
#include "input/run/stop_signal.h"
#include "input/tasks/at_once.h"
#include "input/tasks/solve_report.h"
#include "solvers/shifted/shifted_solver.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace quadrille::capi {

namespace {

/// What the first version of quadrille_report had.
constexpr std::uint32_t least_report = 72;
static_assert(sizeof(quadrille_report) == 72 && offsetof(quadrille_report, host_bytes) == 64);

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::shared_ptr<SolverObject> create(const std::shared_ptr<OperatorObject>& op, const char* words,
                                     quadrille_solver** made) {
  std::shared_ptr<const Parameters> read;
  SolverSpec spec;
  together(op->context(), {"quadrille_solver_create", words}, [&] {
    (void)required(made, new_handle);
    read = read_words(solver_block(), words);
    spec = solver_spec(*read);
  });
  if (const std::string unused = unused_words(*read); !unused.empty()) log().warn("{}", unused);
  try {
    return made_together(op->context(), [&] { return std::make_shared<SolverObject>(op, spec); });
  } catch (const Error& error) {  // the place of what asks for a form that these links do not have
    if (error.where().known() || spec.reconstruct == Reconstruct::R18) throw;
    throw Error(error.code(), error.message(), read->where("reconstruct"));
  }
}

quadrille_stop_reason code_of(StopReason reason) {
  switch (reason) {
    case StopReason::converged: return QUADRILLE_CONVERGED;
    case StopReason::max_iterations: return QUADRILLE_MAX_ITERATIONS;
    case StopReason::breakdown: return QUADRILLE_BREAKDOWN;
    case StopReason::diverged: return QUADRILLE_DIVERGED;
    case StopReason::not_finite: return QUADRILLE_NOT_FINITE;
    case StopReason::stagnated: break;
  }
  return QUADRILLE_STAGNATED;
}

/// What calls that solve for a host's arrays share.
class HostSolves {
 public:
  HostSolves(SolverObject& solver, std::shared_ptr<const Parameters> words, std::size_t count,
             quadrille_report* reports)
      : object_(solver),
        words_(std::move(words)),
        host_(*words_, *solver.op->gauge->lattice, solver.op->gauge->points, solver.op->dirac->kappa(),
              solver.context().given()),
        count_(count),
        reports_(reinterpret_cast<std::byte*>(reports)),
        report_bytes_(reports == nullptr ? 0 : reports->struct_size) {
    if (reports != nullptr && (report_bytes_ < least_report || report_bytes_ > 4096)) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("reports[0].struct_size is {}: begin with QUADRILLE_REPORT_INIT", report_bytes_));
    }
  }

 protected:
  /// A solve that meets numbers which are not finite blames the links, if it is they that are not: the host may have
  /// given such ones in an update that has failed.
  template <class Solve>
  auto on_finite_links(const Solve& solve) const {
    const auto check_links = [&] {
      const GaugeObject& gauge = *object_.op->gauge;
      demand_finite(gauge.links->unitarity(), gauge.lattice->global_dims());
    };
    try {
      auto reports = solve();
      if (std::ranges::any_of(reports, [](const SolveReport& r) { return r.stop_reason == StopReason::not_finite; })) {
        check_links();
      }
      return reports;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::numerical) check_links();
      throw;
    }
  }

  /// As a solve of the job, if a module works here.
  template <class Solve>
  auto counted(const Solve& solve) const {
    JobRun* const job = object_.context().job;
    if (job == nullptr) return solve();
    const JobClock::Span span = job->count(Phase::solves);
    return solve();
  }

  /// The sites of the subset, from and to full fields.
  void read(Field& full, const void* array, double factor) const {
    if (host_.subset() == Subset::Full) return host_.read_into(full, array, factor);
    Field part = full.parity(parity_of(host_.subset()));
    host_.read_into(part, array, factor);
  }
  void write(Field& full, void* array, double factor) const {
    if (host_.subset() == Subset::Full) return host_.write_from(full, array, factor);
    host_.write_from(full.parity(parity_of(host_.subset())), array, factor);
  }

  /// Shows the iterations of solve `first` of `solves`, and of those at once with it, to whom it may concern, and stops
  /// them where that is wanted.
  ProgressCallback watcher(std::size_t first, std::size_t solves, std::size_t at_once = 1) {
    const Context& context = object_.context();
    if (context.job != nullptr) return watcher_of_job(first, solves, at_once);
    if (context.progress == nullptr && !context.on.ranks) return {};
    if (context.on.ranks) ranks().forget_signals();
    return [this, &context, first, solves](const Progress& now) {
      const std::size_t k = first + std::size_t(now.rhs);
      const bool stop = context.progress != nullptr &&
                        context.progress(context.progress_user, k, solves, now.iteration, now.residual) != 0;
      if (context.on.ranks && stop) ranks().raise(SIGTERM);
      // On ranks: whether any of them wanted to stop, as all know it after the sums of the next iteration.
      if (context.on.ranks ? ranks().agreed_signal() != 0 : stop) stopped(k, now.iteration);
    };
  }
  /// A module's solve is stopped and shown as those of the program's own tasks.
  ProgressCallback watcher_of_job(std::size_t first, std::size_t solves, std::size_t at_once) {
    if (!line_) line_.emplace("solve", int(solves));
    line_->begin_solves(int(at_once));
    return [this, first](const Progress& now) {
      if (line_->active()) line_->update(now);
      if (stop_signal() == 0) return;
      throw Stopped{
          fmt::format("stopped in solve {} after {} iterations", first + std::size_t(now.rhs), now.iteration)};
    };
  }
  /// The last iteration has no sums after it.
  void stop_if_asked_at_last(std::size_t k, int iterations) const {
    if (!object_.context().on.ranks) return;
    ranks().agree_on_signals();
    if (ranks().agreed_signal() != 0) stopped(k, iterations);
  }
  [[noreturn]] static void stopped(std::size_t k, int iterations) {
    throw Stopped{fmt::format("the progress function has ended solve {} after {} iterations", k, iterations)};
  }
  const Communicator& ranks() const { return object_.op->gauge->lattice->communicator(); }

  static quadrille_report report_of(const SolveReport& report) {
    quadrille_report out = QUADRILLE_REPORT_INIT;
    out.stop_reason = code_of(report.stop_reason);
    out.iterations = report.iterations;
    out.reliable_updates = report.reliable_updates;
    out.restarts = report.restarts;
    out.converged = report.converged ? 1 : 0;
    out.residual = report.residual;
    out.solve_seconds = report.seconds;
    out.flops = report.flops;
    return out;
  }

  /// Report k, to the host and in the list of solves, where it begins with `solve`.
  void give(std::size_t k, quadrille_report& out, const SolveReport& report, const EvenOddForm& form,
            const std::vector<KernelRecord>& kernels, nlohmann::ordered_json solve, int at_once = 1) {
    const DiracOperator& dirac = *object_.op->dirac;
    solve.update(
        solve_json({"", 0, 0, dirac.mass(), dirac.kappa(), form, at_once}, object_.systems.spec(), report, kernels));
    for (const char* of_a_column : {"task", "spin", "color"}) solve.erase(of_a_column);
    if (JobRun* const job = object_.context().job) job->add_solve(solve);
    for (const auto& [key, value] :
         {std::pair("import_seconds", out.import_seconds), std::pair("export_seconds", out.export_seconds)}) {
      solve[key] = value;
    }
    solve["host_bytes"] = out.host_bytes;
    object_.solves.push_back(std::move(solve));
    if (reports_ == nullptr) return;
    out.struct_size = report_bytes_;  // what this library does not know stays as it is
    std::memcpy(reports_ + k * report_bytes_, &out, std::min<std::size_t>(sizeof out, report_bytes_));
  }

  SolverObject& object_;
  std::shared_ptr<const Parameters> words_;
  SpinorArrays host_;
  std::size_t count_;  ///< of solutions
  std::byte* reports_;
  std::uint32_t report_bytes_;
  std::optional<ProgressLine> line_;  ///< of a module's solves
};

/// One call of quadrille_solver_solve.
class Solves : HostSolves {
 public:
  Solves(SolverObject& solver, const char* words, const void* const* b, void* const* x, std::size_t count,
         quadrille_report* reports)
      : HostSolves(solver, read_words(solve_table(), words, "spinors"), count, reports), b_(b), x_(x) {
    const std::string& system = words_->text("system");
    choice_.subset = host_.subset();
    choice_.even_odd = system.starts_with("even_odd");
    choice_.adjoint = system == "m_dagger" || system == "even_odd_dagger";
    choice_.normal = system == "m_dagger_m" || system == "even_odd_normal";
    if (choice_.even_odd == (choice_.subset == Subset::Full)) {
      throw Error(
          ErrorCode::invalid_input,
          fmt::format("system: {} is solved with subset: {}", system, choice_.even_odd ? "even, or odd" : "full"),
          words_->where(words_->given("subset") ? "subset" : "system"));
    }
    host_.check(b, count, "b");
    host_.check(x, count, "x");
  }

  quadrille_status run() {
    object_.solves = nlohmann::ordered_json::array();
    host_.wait();
    std::string failed;
    const auto at_once = std::size_t(batch());
    for (std::size_t first = 0; first < count_; first += at_once) {
      std::size_t k = first;
      for (const SolveReport& report : solve(first, std::min(at_once, count_ - first))) {
        if (!report.converged) failed += fmt::format("{}solve {}: {}", failed.empty() ? "" : "\n", k, report.message);
        ++k;
      }
    }
    return failed.empty() ? QUADRILLE_DONE : fail(&object_.context(), QUADRILLE_NOT_CONVERGED, failed);
  }

 private:
  /// More at once gain little.
  static constexpr int most_at_once = 16;
  int batch() {
    SystemSolver* const solver = object_.systems.solver_of_many(choice_);
    if (solver == nullptr) return 1;
    return solved_at_once("solve", *solver, object_.b.front().desc(), batch_of(*words_), most_at_once, int(count_), 0);
  }

  /// Those from `first` on at once.
  std::vector<SolveReport> solve(std::size_t first, std::size_t count) {
    using Start = SystemSolver::Start;
    const bool guessed = words_->boolean("initial_guess");
    const auto earlier = kernel_records();
    object_.reserve(int(count));
    const std::span x = std::span(object_.x).first(count), b = std::span(object_.b).first(count);
    // M of the host is `unit` times M of the library, M^+ M its square.
    const double unit = choice_.normal ? host_.unit() * host_.unit() : host_.unit();
    std::vector<double> imported;
    for (std::size_t k = 0; k < count; ++k) {
      const Clock::time_point begin = Clock::now();
      read(b[k], b_[first + k], 1);
      if (guessed) read(x[k], x_[first + k], unit);
      object_.context().backend.synchronize();
      imported.push_back(seconds_since(begin));
    }
    object_.systems.set_progress(watcher(first, count_, count));
    std::vector<SolveReport> reports = on_finite_links([&] {
      return counted([&] { return object_.systems.solve(choice_, x, b, guessed ? Start::given : Start::zero); });
    });
    stop_if_asked_at_last(first, reports.front().iterations);
    const std::vector<KernelRecord> kernels = kernel_records_since(earlier);
    for (std::size_t k = 0; k < count; ++k) {
      const Clock::time_point solved = Clock::now();
      write(x[k], x_[first + k], 1 / unit);
      quadrille_report out = report_of(reports[k]);
      out.import_seconds = imported[k];
      out.export_seconds = seconds_since(solved);
      out.host_bytes = (guessed ? 3 : 2) * host_.host_bytes();
      give(first + k, out, reports[k], object_.systems.form_of(choice_), kernels,
           {{"solve", first + k}, {"system", words_->text("system")}}, int(count));
    }
    return reports;
  }

  SystemChoice choice_;
  const void* const* b_;
  void* const* x_;
};

/// One call of quadrille_solver_solve_shifts.
class ShiftedSolves : HostSolves {
 public:
  ShiftedSolves(SolverObject& solver, const char* words, const double* shifts, const void* b, void* const* x,
                std::size_t count, quadrille_report* reports)
      : HostSolves(solver, read_words(spinors_table(), words, "spinors"), count, reports), b_(b), x_(x) {
    if (host_.subset() == Subset::Full) {
      throw Error(ErrorCode::invalid_input, "shifted systems are solved with subset: even, or odd",
                  words_->where("subset"));
    }
    if (count == 0 || shifts == nullptr) throw Error(ErrorCode::invalid_input, "there are no shifts");
    check_shifted_method(solver.systems.spec());
    check_shifts({shifts, count});
    host_.check(&b, 1, "b");
    host_.check(x, count, "x");
    for (std::size_t k = 0; k < count; ++k) shifts_.push_back(shifts[k]);
  }

  quadrille_status run() {
    object_.solves = nlohmann::ordered_json::array();
    host_.wait();
    // N of the host is `unit` times N of the library.
    const double unit = host_.unit() * host_.unit();
    const Clock::time_point begin = Clock::now();
    ShiftedSolver& solver = solver_for(unit);
    std::vector<Field> solutions;
    for (std::size_t k = 0; k < count_; ++k) solutions.emplace_back(solver.field_desc());
    Field right(solver.field_desc());
    read(object_.b.front(), b_, 1);
    convert(right, object_.b.front().parity(parity_of(host_.subset())));
    object_.context().backend.synchronize();
    const double imported = seconds_since(begin);
    solver.set_progress(watcher(0, 1));
    const auto earlier = kernel_records();
    ShiftedCg::Report report;
    (void)on_finite_links([&] {
      return counted([&] {
        report = solver.solve(solutions, right);
        return std::vector<SolveReport>{report.shifts[0]};
      });
    });
    stop_if_asked_at_last(0, report.iterations);
    return give_all(report, solutions, unit, imported, kernel_records_since(earlier));
  }

 private:
  /// The host's N.
  EvenOddForm form() const { return {parity_of(host_.subset()), EvenOddForm::Kind::asymmetric}; }
  ShiftedSolver& solver_for(double unit) const {
    std::vector<double> shifts = shifts_;
    for (double& shift : shifts) shift /= unit;
    std::unique_ptr<ShiftedSolver>& made = object_.shifted[std::size_t(form().kept)];
    if (made && made->shifts().size() == count_) {
      made->set_shifts(std::move(shifts));
    } else {
      SolverSpec spec = object_.systems.spec();
      spec.preconditioning = form();
      made = std::make_unique<ShiftedSolver>(EvenOddSystem(object_.op->dirac, spec.preconditioning), spec, shifts);
    }
    return *made;
  }

  quadrille_status give_all(const ShiftedCg::Report& report, const std::vector<Field>& solutions, double unit,
                            double imported, const std::vector<KernelRecord>& kernels) {
    std::string failed;
    for (std::size_t k = 0; k < count_; ++k) {
      const Clock::time_point solved = Clock::now();
      Field part = object_.x.front().parity(parity_of(host_.subset()));
      convert(part, solutions[k]);
      write(object_.x.front(), x_[k], 1 / unit);
      const SolveReport& of_shift = report.shifts[k];
      quadrille_report out = report_of(of_shift);
      out.import_seconds = k == 0 ? imported : 0;
      out.export_seconds = seconds_since(solved);
      out.host_bytes = (k == 0 ? 2 : 1) * host_.host_bytes();
      give(k, out, of_shift, form(), k == 0 ? kernels : std::vector<KernelRecord>{},
           {{"solve", k},
            {"system", "even_odd_normal"},
            {"shift", shifts_[k]},
            {"refining_iterations", report.refining[k]}});
      if (!of_shift.converged)
        failed += fmt::format("{}shift {}: {}", failed.empty() ? "" : "\n", shifts_[k], of_shift.message);
    }
    return failed.empty() ? QUADRILLE_DONE : fail(&object_.context(), QUADRILLE_NOT_CONVERGED, failed);
  }

  const void* b_;
  void* const* x_;
  std::vector<double> shifts_;
};

}  // namespace

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_solver_create(quadrille_operator* handle, const char* words, quadrille_solver** made) {
  return make<OperatorObject>(handle, made, [&](const auto& op) { return create(op, words, made); });
}

quadrille_status quadrille_solver_solve(quadrille_solver* handle, const char* words, const void* const* b,
                                        void* const* x, size_t count, quadrille_report* reports) {
  return with<SolverObject>(handle, [&](const std::shared_ptr<SolverObject>& solver) {
    std::optional<Solves> solves;
    together(solver->context(), {"quadrille_solver_solve", words, count},
             [&] { solves.emplace(*solver, words, b, x, count, reports); });
    return solves->run();
  });
}

quadrille_status quadrille_solver_solve_shifts(quadrille_solver* handle, const char* words, const double* shifts,
                                               const void* b, void* const* x, size_t count, quadrille_report* reports) {
  return with<SolverObject>(handle, [&](const std::shared_ptr<SolverObject>& solver) {
    std::optional<ShiftedSolves> solves;
    together(solver->context(), {"quadrille_solver_solve_shifts", words, count},
             [&] { solves.emplace(*solver, words, shifts, b, x, count, reports); });
    return solves->run();
  });
}

quadrille_status quadrille_solver_json(quadrille_solver* handle, const char** json) {
  return with<SolverObject>(handle, [&](const std::shared_ptr<SolverObject>& solver) {
    *required(json, "the place for the text") = "";
    Context& context = solver->context();
    context.text = solver->solves.dump();
    *json = context.text.c_str();
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_solver_destroy(quadrille_solver* handle) { return destroy<SolverObject>(handle); }
