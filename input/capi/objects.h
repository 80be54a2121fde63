// What stands behind the handles of the C API.
#pragma once

#include "core/backend/backend.h"
#include "core/field/propagator.h"
#include "core/gauge/gauge_store.h"
#include "core/layout/lattice.h"
#include "core/system/log.h"
#include "core/tuning/kernel_log.h"
#include "dirac/systems/even_odd.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/quadrille.h"
#include "input/capi/systems.h"
#include "input/job/rank_grid.h"
#include "modules/shared/plugin/handle_table.h"
#include "solvers/driver.h"
#include "solvers/shifted/shifted_solver.h"

#include <nlohmann/json.hpp>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace quadrille {
class JobRun;
}

namespace quadrille::capi {

using c_calls::find;
using c_calls::handles;
using c_calls::InvalidHandle;
using c_calls::Kind;
using c_calls::kind_of;

/// The ranks of a context: those of a host's communicator, those of the job whose module works in it, or this process
/// alone.
struct ContextRanks {
  std::unique_ptr<Ranks> ranks{};  ///< of a host; null: it is one process
  RankGrid grid{};
  std::shared_ptr<const Communicator> all = single_process();  ///< without regard to a lattice
};

struct Context : std::enable_shared_from_this<Context> {
  static constexpr Kind kind = Kind::context;
  Context(Backend& works_on, int with_threads, ContextRanks with_ranks);
  /// That of a module's task: what is said goes where `says` has it, solves are counted as those of the job's task, and
  /// lattices are divided as the job's.
  Context(Backend& works_on, int with_threads, const spdlog::logger& says, JobRun& of);
  Context& context() { return *this; }

  Backend& backend;
  const std::unique_ptr<Lane> lane;  ///< null: that of the thread that calls
  const int threads;
  const ContextRanks on;
  JobRun* const job = nullptr;           ///< whose module works here; null: a host does
  const std::thread::id task_thread{};   ///< of that module
  std::mutex turn;                       ///< of the call at work
  std::atomic<std::thread::id> at_work;  ///< its thread
  std::string message;                   ///< of the last call that failed
  std::string text;                      ///< given out by the last call that gives one
  KernelLog kernels;
  spdlog::logger log;
  quadrille_log_function log_function = nullptr;
  void* log_user = nullptr;
  quadrille_progress_function progress = nullptr;
  void* progress_user = nullptr;
  void* stream = nullptr;  ///< that arrays on the device are ready on; null: none in particular

  Given given() const { return {backend, stream}; }
};

struct GaugeObject {
  static constexpr Kind kind = Kind::gauge;
  Context& context() { return *home; }

  std::shared_ptr<Context> home;  // first: it ends last
  std::shared_ptr<const Lattice> lattice;
  std::shared_ptr<GaugeStore> links;
  Points points{};                  ///< of links that came in openQCD's order
  nlohmann::ordered_json origin{};  ///< file, format and checksum of results.json, until other links come
  bool fixed = false;               ///< links of a job, which other tasks work on
};

struct OperatorObject {
  static constexpr Kind kind = Kind::op;
  OperatorObject(std::shared_ptr<GaugeObject> on, std::shared_ptr<const DiracOperator> with)
      : gauge(std::move(on)), dirac(std::move(with)) {}
  Context& context() { return gauge->context(); }

  std::shared_ptr<GaugeObject> gauge;
  std::shared_ptr<const DiracOperator> dirac;
  std::optional<Field> in, out, scratch, scratch2;  ///< full, made for the first product
};

struct SolverObject {
  static constexpr Kind kind = Kind::solver;
  SolverObject(std::shared_ptr<OperatorObject> with, const SolverSpec& spec)
      : op(std::move(with)), systems(op->dirac, spec) {
    reserve(1);
  }
  /// Fields for so many right-hand sides at once, at least.
  void reserve(int count) {
    while (int(x.size()) < count) x.emplace_back(op->dirac->field_desc());
    while (int(b.size()) < count) b.emplace_back(op->dirac->field_desc());
  }
  Context& context() { return op->context(); }

  std::shared_ptr<OperatorObject> op;
  Systems systems;
  std::unique_ptr<ShiftedSolver> shifted[2];  ///< by the parity that it works on, made for the first shifts
  std::vector<Field> x, b;                    ///< full, of each right-hand side at once
  nlohmann::ordered_json solves = nlohmann::ordered_json::array();
};

/// Of a job, which a module of it is given.
struct PropagatorObject {
  static constexpr Kind kind = Kind::propagator;
  Context& context() { return *home; }

  std::shared_ptr<Context> home;
  const Propagator* propagator;
};

}  // namespace quadrille::capi
