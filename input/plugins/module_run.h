// A call of a module's function, and what it has been given and has reported.
#pragma once

#include "core/error.h"
#include "input/run/progress.h"
#include "modules/shared/plugin/module.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <deque>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

namespace quadrille {
class Backend;
class JobRun;
class ModuleHandles;
class ModuleState;
struct TaskSpec;
}  // namespace quadrille

namespace quadrille {
/// Files of links that a task has written in 32 or 64 bits, by the checksums of their data.
class WrittenLinks {
 public:
  using Files = std::map<std::string, std::string>;
  Files& of(int bits) { return files_[bits == 64]; }
  const Files& of(int bits) const { return files_[bits == 64]; }

 private:
  Files files_[2];
};
}  // namespace quadrille

/// What stands behind the handle that a module's functions are given.
struct quadrille_run {
  const quadrille::TaskSpec& task;
  quadrille::JobRun* job;                 ///< null while the task is only checked
  quadrille::Backend* backend = nullptr;  ///< null where it is checked for any
  const std::thread::id thread = std::this_thread::get_id();
  std::atomic<const char*> foreign_call = nullptr;  ///< the function that another thread has called
  std::exception_ptr failure = {};                  ///< the first
  std::deque<std::string> texts = {};               ///< that the module has been given
  nlohmann::ordered_json result = nullptr;
  nlohmann::ordered_json blocks = nlohmann::ordered_json::object();
  std::shared_ptr<quadrille::ModuleState> state = {};      ///< once it has asked
  std::shared_ptr<quadrille::ModuleHandles> handles = {};  ///< that it has been given, once it has
  std::optional<std::set<std::string>> outputs = {};       ///< names that it may write, once it has
  std::optional<quadrille::ProgressLine> line = {};
  std::string stopped_where = {};
  nlohmann::ordered_json origin = {};  ///< that gauge files tell of their links
  quadrille::WrittenLinks written_links = {};
  bool has_set_links = false;
};

namespace quadrille {

/// "the module 'x': WHAT".
std::string of_module(const TaskSpec& task, const std::string& what);

/// The module did what it may not: a failure of the task, if it is the first. Gives QUADRILLE_FAILED.
quadrille_status defect(quadrille_run* run, const std::string& what);

/// Makes this a failure of the task, if it is the first: what follows is its consequence.
void set_failure(quadrille_run* run, std::exception_ptr failure);

/// Makes a call from another thread a failure of the task.
void note_foreign_call(quadrille_run* run);

/// Inside a catch: makes the exception at hand a failure of the task.
void note_exception(quadrille_run* run);

/// A function of the host, and the addresses where the module wants its results.
struct HostFunction {
  HostFunction(const char* called, std::initializer_list<const void*> results = {})
      : name(called), nowhere(std::find(results.begin(), results.end(), nullptr) != results.end()) {}
  const char* name;
  bool nowhere;  ///< one of the addresses is null
};

/// Runs a function of the host: none of its exceptions reaches the module, and it is refused on a thread that the
/// module was not called on.
template <class Body>
quadrille_status host_call(quadrille_run* run, const HostFunction& function, Body&& body) noexcept {
  if (std::this_thread::get_id() != run->thread) {
    run->foreign_call = function.name;
    return QUADRILLE_FAILED;
  }
  try {
    try {
      if (function.nowhere) {
        throw std::invalid_argument(fmt::format("it passes a null pointer for a result of '{}'", function.name));
      }
      return body();
    } catch (...) {
      note_exception(run);
    }
  } catch (...) {  // no memory is left to say why: "failed without saying why" will have to do
  }
  return QUADRILLE_FAILED;
}

/// For what a module gives: null makes the call fail.
template <class T>
T* given(T* pointer, const char* what) {
  if (pointer == nullptr) throw std::invalid_argument(fmt::format("it passes a null pointer as {}", what));
  return pointer;
}

/// The text, kept until the module's function returns.
const char* keep_text(quadrille_run* run, std::string text);

}  // namespace quadrille
