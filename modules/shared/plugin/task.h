// For modules in C++: a task's parameters and results without pointers and statuses, on top of
// modules/shared/plugin/module.h alone.
//
//   void answer(const quadrille::TaskContext& context) { context.result(R"({"answer": 42})"); }
//   constexpr quadrille_task tasks[] = {{.name = "answer", .run = quadrille::task_function<answer>}};
//   constexpr quadrille_module module = quadrille::module_of("mine", "1.0", tasks);
#pragma once

#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/field/propagator.h"
#include "core/gauge/gauge_store.h"
#include "core/system/memory.h"
#include "modules/shared/plugin/module.h"

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// The build that these headers are installed from; in the source tree it is that of the program.
#if __has_include("quadrille_build.h")
#include "quadrille_build.h"
#else
#define QUADRILLE_CPP_BUILD ""
#endif

namespace quadrille {

/// What the program offers to a task while one of its module's functions runs. Parameters are named by paths
/// ("save.file"). A path that is not in the schema ends the task with an error.
class TaskContext {
 public:
  TaskContext(const quadrille_host* host, quadrille_run* run) : host_(host), run_(run) {}

  /// An error; if it is due to a parameter, the program adds the place of that parameter in the job.
  struct Failure {
    quadrille_status code;
    std::string parameter, message;
  };
  [[noreturn]] static void fail(quadrille_status code, std::string message, std::string parameter = {}) {
    throw Failure{code, std::move(parameter), std::move(message)};
  }

  bool has(const std::string& path) const { return host_->has(run_, path.c_str()) != 0; }
  bool boolean(const std::string& path) const { return get<int>(host_->boolean, path, 0) != 0; }
  std::int64_t integer(const std::string& path) const { return get<std::int64_t>(host_->integer, path, 0); }
  double real(const std::string& path) const { return get<double>(host_->real, path, 0); }
  /// The text of a text parameter, a choice, the selector of a variant, the name of an earlier task.
  std::string text(const std::string& path) const { return get<const char*>(host_->text, path, 0); }
  /// The word of a parameter that is a number or a word; empty if it is a number.
  std::string word(const std::string& path) const {
    const char* word = get<const char*>(host_->text, path, 0);
    return word == nullptr ? "" : word;
  }
  /// The number of a list's entries.
  std::size_t count(const std::string& path) const { return host_->count(run_, path.c_str()); }
  std::array<int, 4> integer4(const std::string& path) const {
    std::array<int, 4> out{};
    for (std::size_t mu = 0; mu < 4; ++mu) out[mu] = int(get<std::int64_t>(host_->integer, path, mu));
    return out;
  }
  /// theta/pi for x, y, z, t: 0 periodic, 1 antiperiodic.
  std::array<double, 4> boundary(const std::string& path) const {
    std::array<double, 4> out{};
    for (std::size_t mu = 0; mu < 4; ++mu) out[mu] = get<double>(host_->real, path, mu);
    return out;
  }
  std::string input_file(const std::string& path) const { return get<const char*>(host_->input_file, path, 0); }
  std::vector<std::string> input_files(const std::string& path) const {
    const std::vector<const char*> all = list<const char*>(host_->input_file, path);
    return {all.begin(), all.end()};
  }
  std::string output_file(const std::string& path) const { return get<const char*>(host_->output_file, path, 0); }
  /// The path of a file that the function `outputs` names.
  std::string output_named(const std::string& name) const {
    const char* file = nullptr;
    demand(host_->output_named(run_, name.c_str(), &file));
    return file;
  }
  std::vector<double> reals(const std::string& path) const { return list<double>(host_->real, path); }
  std::vector<std::int64_t> integers(const std::string& path) const { return list<std::int64_t>(host_->integer, path); }
  std::vector<std::string> texts(const std::string& path) const {
    const std::vector<const char*> all = list<const char*>(host_->text, path);
    return {all.begin(), all.end()};
  }
  /// The path of a file that the task is to remove; `name` is relative to the output folder. Makes its folders.
  /// Collective.
  std::string scratch_file(const std::string& name) const {
    const char* file = nullptr;
    demand(host_->scratch_file(run_, name.c_str(), &file));
    return file;
  }

  std::string task_name() const { return host_->task_name(run_); }
  std::string backend() const { return host_->backend(run_); }
  int threads() const { return host_->threads(run_); }
  /// Adds a JSON object to the results; for this and all that follows see quadrille_host.
  void result(const std::string& json) const { demand(host_->result(run_, nullptr, json.c_str())); }
  void result_in(const std::string& block, const std::string& json) const {
    demand(host_->result(run_, block.c_str(), json.c_str()));
  }
  void warn(const std::string& text) const { host_->warn(run_, text.c_str()); }
  void progress(const std::string& text, double fraction) const { host_->progress(run_, text.c_str(), fraction); }

  /// Handles, for the functions of quadrille.h, which functions() has.
  const quadrille_functions& functions() const { return *host_->functions; }
  quadrille_context* context() const { return ask(host_->context); }
  quadrille_gauge* gauge() const { return ask(host_->gauge); }
  quadrille_operator* dirac_operator() const { return ask(host_->dirac_operator); }
  quadrille_solver* solver() const { return ask(host_->solver); }

  /// The C++ object behind a handle: see quadrille_host.object.
  const void* object(const void* handle) const {
    const void* found = nullptr;
    demand(host_->object(run_, handle, &found));
    return found;
  }
  /// The objects behind the job's handles; they live as long as the task.
  const GaugeStore& links() const { return *static_cast<const GaugeStore*>(object(gauge())); }
  /// All ranks that run the task, of links those of their lattice.
  const Communicator& ranks() const { return *static_cast<const Communicator*>(object(context())); }
  /// The propagator of the earlier task that a parameter names; `index`: of a list of such tasks.
  quadrille_propagator* propagator_handle(const std::string& path, std::size_t index = 0) const {
    quadrille_propagator* handle = nullptr;
    demand(host_->propagator(run_, path.c_str(), index, &handle));
    return handle;
  }
  const Propagator& propagator(const std::string& path, std::size_t index = 0) const {
    return *static_cast<const Propagator*>(object(propagator_handle(path, index)));
  }
  /// A copy of its column 3 spin + color of the source on the sites of this rank: [site][spin][color], x fastest,
  /// spins in the DeGrand-Rossi basis.
  std::vector<std::complex<double>> propagator_column(const std::string& path, int column,
                                                      std::size_t index = 0) const {
    quadrille_propagator* const handle = propagator_handle(path, index);
    const Lattice& lattice = *static_cast<const Propagator*>(object(handle))->desc().lattice;
    std::vector<std::complex<double>> out(std::size_t(lattice.volume()) * spinor_components);
    const quadrille_status status =
        functions().propagator_to_memory(handle, column, "{basis: degrand_rossi}", out.data());
    if (status != QUADRILLE_DONE) fail(status, functions().message(context()));
    return out;
  }
  void write_links(const std::string& name, const GaugeStore& links, int bits) const {
    demand(host_->write_gauge(run_, name.c_str(), Lent(*this, links).handle, bits));
  }

  /// A state from which an interrupted task continues: a JSON value and links, in 64 bits, or in 32 where it goes on
  /// from such links with the same bits.
  void keep_unfinished(const std::string& json, const GaugeStore& links, int bits) const {
    demand(host_->put_state(run_, "state", json.data(), json.size()));
    demand(host_->put_state_gauge(run_, "links", Lent(*this, links).handle, bits));
    demand(host_->keep_state(run_));
  }
  struct Unfinished {
    std::string json;
    const GaugeStore& links;
  };
  std::optional<Unfinished> unfinished() const {
    const void* json = nullptr;
    std::size_t size = 0;
    quadrille_gauge* links = nullptr;
    demand(host_->get_state(run_, "state", &json, &size));
    demand(host_->get_state_gauge(run_, "links", &links));
    if (json == nullptr || links == nullptr) return std::nullopt;
    return Unfinished{{static_cast<const char*>(json), size}, *static_cast<const GaugeStore*>(object(links))};
  }

  /// A state in parts made of bytes; keep_state() makes them the task's state.
  void put_state(const std::string& name, const void* bytes, std::size_t size) const {
    demand(host_->put_state(run_, name.c_str(), bytes, size));
  }
  void keep_state() const { demand(host_->keep_state(run_)); }
  /// A part of the state that the run started from; none if it starts from the beginning.
  std::optional<std::string_view> state_part(const std::string& name) const {
    const void* bytes = nullptr;
    std::size_t size = 0;
    demand(host_->get_state(run_, name.c_str(), &bytes, &size));
    if (bytes == nullptr) return std::nullopt;
    return std::string_view(static_cast<const char*>(bytes), size);
  }

  struct Device {
    int ordinal;   ///< of the GPU; -1 without one
    void* stream;  ///< a cudaStream_t
  };
  Device device() const {
    Device found{};
    demand(host_->device(run_, &found.ordinal, &found.stream));
    return found;
  }
  /// Memory of the job's backend, from its pool.
  void* allocate(std::size_t bytes) const {
    void* memory = nullptr;
    demand(host_->allocate(run_, bytes, &memory));
    return memory;
  }
  void release(void* memory) const { demand(host_->release(run_, memory)); }

  /// What is kept after this call stays when the task has finished; for this and what follows see quadrille_host.
  void finishing() const { demand(host_->finishing(run_)); }
  /// The links that later tasks work on; copied.
  void set_links(const GaugeStore& links) const { demand(host_->set_links(run_, Lent(*this, links).handle)); }
  /// What gauge files say about their links from now on.
  void describe_links(const std::string& json) const { demand(host_->describe_links(run_, json.c_str())); }
  /// Where the task's links come from, as JSON; empty for a start.
  std::string links_origin() const {
    const char* json = host_->links_origin(run_);
    return json == nullptr ? "" : json;
  }
  bool should_stop() const { return host_->should_stop(run_) != 0; }
  /// Ends the task after should_stop() has returned true; keep the state to continue from before this call.
  [[noreturn]] void stop(const std::string& where) const {
    host_->stopped(run_, where.c_str());
    throw Stop{};
  }

  /// progress(), then stop() if should_stop(): for a task that keeps no state.
  void progress_or_stop(const std::string& text, double fraction) const {
    progress(text, fraction);
    stop_if_asked();
  }
  /// stop() if should_stop(): for a task that keeps no state.
  void stop_if_asked() const {
    if (should_stop()) stop("in the task '" + task_name() + "', which will start over");
  }

  /// Thrown when the program already knows the error.
  struct Told {};
  struct Stop {};

 private:
  static void demand(quadrille_status status) {
    if (status != QUADRILLE_DONE) throw Told{};
  }
  template <class Handle>
  Handle* ask(quadrille_status (*give)(quadrille_run*, Handle**)) const {
    Handle* handle = nullptr;
    demand(give(run_, &handle));
    return handle;
  }
  /// A handle of links of the module's own, for a call.
  struct Lent {
    const TaskContext& context;
    quadrille_gauge* handle = nullptr;
    Lent(const TaskContext& to, const GaugeStore& links) : context(to) {
      demand(context.host_->handle_of_gauge(context.run_, &links, &handle));
    }
    ~Lent() { (void)context.functions().gauge_destroy(handle); }
    Lent(const Lent&) = delete;
    Lent& operator=(const Lent&) = delete;
  };

  template <class T>
  T get(quadrille_status (*ask)(quadrille_run*, const char*, std::size_t, T*), const std::string& path,
        std::size_t index) const {
    T value{};
    demand(ask(run_, path.c_str(), index, &value));
    return value;
  }
  template <class T>
  std::vector<T> list(quadrille_status (*ask)(quadrille_run*, const char*, std::size_t, T*),
                      const std::string& path) const {
    std::vector<T> out;
    for (std::size_t k = 0; k < host_->count(run_, path.c_str()); ++k) out.push_back(get<T>(ask, path, k));
    return out;
  }

  const quadrille_host* host_;
  quadrille_run* run_;
};

/// The status of an error of the library.
constexpr quadrille_status status_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_input: return QUADRILLE_INVALID_INPUT;
    case ErrorCode::file: return QUADRILLE_FILE_ERROR;
    case ErrorCode::unsupported: return QUADRILLE_UNSUPPORTED;
    case ErrorCode::numerical: return QUADRILLE_NUMERICAL;
    case ErrorCode::internal: break;
  }
  return QUADRILLE_INTERNAL;
}

/// Runs `body(context)` and reports every exception to the program: no exception leaves a module.
template <class Body>
quadrille_status guarded(const quadrille_host* host, quadrille_run* run, Body&& body) noexcept {
  try {
    body(TaskContext(host, run));
    return QUADRILLE_DONE;
  } catch (const TaskContext::Stop&) {
    return QUADRILLE_STOPPED;
  } catch (const TaskContext::Told&) {
  } catch (const TaskContext::Failure& failure) {
    const char* parameter = failure.parameter.empty() ? nullptr : failure.parameter.c_str();
    host->fail(run, failure.code, parameter, failure.message.c_str());
  } catch (const FailedElsewhere& failed) {
    host->fail(run, QUADRILLE_FAILED_ELSEWHERE, nullptr, failed.what());
  } catch (const NotEnoughMemory& error) {
    host->fail(run, QUADRILLE_NO_MEMORY, nullptr, error.what());
  } catch (const std::bad_alloc&) {
    host->fail(run, QUADRILLE_NO_MEMORY, nullptr, no_memory_text().c_str());
  } catch (const Error& error) {
    host->fail(run, status_of(error.code()), nullptr, error.what());
  } catch (const std::exception& error) {
    host->fail(run, QUADRILLE_INTERNAL, nullptr, error.what());
  } catch (...) {
    host->fail(run, QUADRILLE_INTERNAL, nullptr, "an exception of an unknown type");
  }
  return QUADRILLE_FAILED;
}

/// Turns a function of a TaskContext into the `check` or `run` of a task.
template <void (*body)(const TaskContext&)>
quadrille_status task_function(const quadrille_host* host, quadrille_run* run) noexcept {
  return guarded(host, run, body);
}

/// The descriptor of a module; `blocks`: its blocks of results.json; the list ends with null.
template <std::size_t count>
constexpr quadrille_module module_of(const char* name, const char* version, const quadrille_task (&tasks)[count],
                                     const char* const* blocks = nullptr) {
  return {.abi_version = QUADRILLE_MODULE_ABI,
          .struct_size = sizeof(quadrille_module),
          .task_size = sizeof(quadrille_task),
          .parameter_size = sizeof(quadrille_parameter),
          .name = name,
          .version = version,
          .build_id = "",
          .tasks = tasks,
          .task_count = count,
          .blocks = blocks,
          .cpp_build = QUADRILLE_CPP_BUILD};
}

}  // namespace quadrille
