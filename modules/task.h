// For modules in C++: a task's parameters and results without pointers and statuses, over modules/module.h alone.
//
//   void answer(const quadrille::TaskContext& context) { context.result(R"({"answer": 42})"); }
//   const quadrille::DeclaredTask task{{.name = "answer", .help = "to everything"}, check_nothing, answer};
//   const quadrille::DeclaredTask* const tasks[] = {&task};
//   ... quadrille::module_of<tasks>("mine", "1.0") ...
#pragma once

#include "core/error.h"
#include "core/gauge/gauge_store.h"
#include "modules/module.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// What a task asks of the program while one of its module's functions runs. Parameters are named by paths
/// ("save.file"). A name that the schema does not have ends the task.
class TaskContext {
 public:
  TaskContext(const quadrille_host* host, quadrille_run* run) : host_(host), run_(run) {}

  /// An error that a parameter is to blame for: the program adds its place in the job.
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
  /// Of a text or a choice.
  std::string text(const std::string& path) const { return get<const char*>(host_->text, path, 0); }
  std::string input_file(const std::string& path) const { return get<const char*>(host_->input_file, path, 0); }
  std::vector<std::string> input_files(const std::string& path) const {
    const std::vector<const char*> all = list<const char*>(host_->input_file, path);
    return {all.begin(), all.end()};
  }
  std::string output_file(const std::string& path) const { return get<const char*>(host_->output_file, path, 0); }
  std::vector<double> reals(const std::string& path) const { return list<double>(host_->real, path); }
  std::vector<std::int64_t> integers(const std::string& path) const { return list<std::int64_t>(host_->integer, path); }
  std::vector<std::string> texts(const std::string& path) const {
    const std::vector<const char*> all = list<const char*>(host_->text, path);
    return {all.begin(), all.end()};
  }

  std::string task_name() const { return host_->task_name(run_); }
  std::string backend() const { return host_->backend(run_); }
  int threads() const { return host_->threads(run_); }
  /// A JSON object; see quadrille_host, as for all that follows.
  void result(const std::string& json) const { demand(host_->result(run_, nullptr, json.c_str())); }
  void result_in(const std::string& block, const std::string& json) const {
    demand(host_->result(run_, block.c_str(), json.c_str()));
  }
  void warn(const std::string& text) const { host_->warn(run_, text.c_str()); }
  void progress(const std::string& text, double fraction) const { host_->progress(run_, text.c_str(), fraction); }

  /// The links of the job, and of a state that was kept, live as long as the task.
  const GaugeStore& links() const {
    const quadrille_gauge* links = nullptr;
    demand(host_->gauge(run_, &links));
    return store_of(links);
  }
  void write_links(const std::string& name, const GaugeStore& links, int bits) const {
    demand(host_->write_gauge(run_, name.c_str(), handle_of(links), bits));
  }
  void keep_unfinished(const std::string& json, const GaugeStore& links) const {
    demand(host_->keep_unfinished_gauge(run_, json.c_str(), handle_of(links)));
  }
  struct Unfinished {
    std::string json;
    const GaugeStore& links;
  };
  std::optional<Unfinished> unfinished() const {
    const char* json = nullptr;
    const quadrille_gauge* links = nullptr;
    demand(host_->unfinished_gauge(run_, &json, &links));
    if (json == nullptr) return std::nullopt;
    return Unfinished{json, store_of(links)};
  }

  /// The file that the job's links come from; empty for links that are made, and with a program that cannot tell.
  std::string links_file() const {
    const char* name = host_has(offsetof(quadrille_host, links_file)) ? host_->links_file(run_) : nullptr;
    return name == nullptr ? "" : name;
  }
  bool should_stop() const { return host_has(offsetof(quadrille_host, should_stop)) && host_->should_stop(run_) != 0; }
  /// Ends the task where should_stop() asked for it; what is to be continued has been kept.
  [[noreturn]] void stop(const std::string& where) const {
    host_->stopped(run_, where.c_str());
    throw Stop{};
  }

  /// progress(), and stop() where should_stop() says so: for a task that keeps no state.
  void progress_or_stop(const std::string& text, double fraction) const {
    progress(text, fraction);
    stop_if_asked();
  }
  /// stop() where should_stop() says so: for a task that keeps no state.
  void stop_if_asked() const {
    if (should_stop()) stop("in the task '" + task_name() + "', which will start over");
  }

  /// The program has been told already.
  struct Told {};
  struct Stop {};

 private:
  static void demand(quadrille_status status) {
    if (status != QUADRILLE_DONE) throw Told{};
  }
  /// Whether the program is late enough to have a member of its struct.
  bool host_has(std::size_t offset) const { return host_->struct_size >= offset + sizeof(host_->should_stop); }
  static const GaugeStore& store_of(const quadrille_gauge* links) {
    return *reinterpret_cast<const GaugeStore*>(links);
  }
  static const quadrille_gauge* handle_of(const GaugeStore& links) {
    return reinterpret_cast<const quadrille_gauge*>(&links);
  }

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

/// What an error of the library is to C.
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

/// Runs `body(context)` and turns every exception into a report to the program: no exception leaves a module.
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
  } catch (const Error& error) {
    host->fail(run, status_of(error.code()), nullptr, error.what());
  } catch (const std::exception& error) {
    host->fail(run, QUADRILLE_INTERNAL, nullptr, error.what());
  } catch (...) {
    host->fail(run, QUADRILLE_INTERNAL, nullptr, "an exception of an unknown type");
  }
  return QUADRILLE_FAILED;
}

/// A task of a module in C++.
struct DeclaredTask {
  quadrille_task description;
  void (*check)(const TaskContext&);  ///< what the schema cannot say: quadrille_module::check
  void (*run)(const TaskContext&);
};

/// The descriptor of a module, without what only some of them have. `tasks`: a static array of pointers to its tasks.
template <const auto& tasks>
quadrille_module module_of(const char* name, const char* version) {
  static const auto descriptions = [] {
    std::array<quadrille_task, std::size(tasks)> all{};
    for (std::size_t k = 0; k < all.size(); ++k) all[k] = tasks[k]->description;
    return all;
  }();
  return {.abi_version = QUADRILLE_MODULE_ABI,
          .struct_size = sizeof(quadrille_module),
          .task_size = sizeof(quadrille_task),
          .parameter_size = sizeof(quadrille_parameter),
          .name = name,
          .version = version,
          .build_id = "",
          .tasks = descriptions.data(),
          .task_count = descriptions.size(),
          .check = [](const quadrille_host* host, quadrille_run* run,
                      std::size_t task) { return guarded(host, run, tasks[task]->check); },
          .run = [](const quadrille_host* host, quadrille_run* run, std::size_t task,
                    void*) { return guarded(host, run, tasks[task]->run); }};
}

}  // namespace quadrille
