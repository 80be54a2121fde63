// What the C calls of modules share: no exception leaves them; statuses, and what the last one that failed had to say.
#pragma once

#include "core/backend/backend.h"
#include "core/comm/agreement.h"
#include "core/comm/ranks.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "core/system/thread_count.h"
#include "modules/shared/plugin/handle_table.h"
#include "modules/shared/plugin/task.h"

#include <cstring>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>

namespace quadrille::c_calls {

/// Runs a call and turns what it throws into a status and a message. `advice`: what helps where memory runs out.
template <class Call>
quadrille_status guarded(std::string& message, const char* name, Call call, const char* advice = "") noexcept {
  try {
    try {
      const CallThreads threads;
      call();
      return QUADRILLE_DONE;
    } catch (const NotEnoughMemory& error) {
      message = std::string(name) + ": " + error.what();
      return QUADRILLE_NO_MEMORY;
    } catch (const InvalidHandle& wrong) {
      message = std::string(name) + ": " + wrong.message();
      return QUADRILLE_INVALID_HANDLE;
    } catch (const Error& error) {
      message = std::string(name) + ": " + error.what();
      return status_of(error.code());
    } catch (const FailedElsewhere& failed) {
      message = std::string(name) + ": " + failed.what();
      return QUADRILLE_FAILED_ELSEWHERE;
    } catch (const std::bad_alloc&) {
      message = std::string(name) + ": out of memory" + advice;
      return QUADRILLE_NO_MEMORY;
    } catch (const std::length_error&) {  // more than any memory has
      message = std::string(name) + ": out of memory" + advice;
      return QUADRILLE_NO_MEMORY;
    } catch (const std::exception& error) {
      message = std::string(name) + ": " + error.what();
      return QUADRILLE_INTERNAL;
    }
  } catch (...) {
    return QUADRILLE_NO_MEMORY;  // there was no memory for the message
  }
}

/// A call's work on a backend: on a device one at a time, beside jobs and other calls, in the first lane.
class Work {
 public:
  explicit Work(Backend& backend) {
    if (backend.host_memory()) return;
    turn_ = std::unique_lock(first_lane_mutex());
    lane_.emplace(backend, nullptr);
  }

 private:
  std::unique_lock<std::recursive_mutex> turn_;
  std::optional<UseLane> lane_;
};

[[noreturn]] inline void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

inline void demand(const void* pointer, const char* name) {
  if (pointer == nullptr) refuse(std::string(name) + " is a null pointer");
}

/// The first half of a call that ranks make together: runs `check`, which must not use a communicator, on each. None
/// goes on when it fails on one, or when they are in different calls by the text of `call`. Throws what `check` throws;
/// FailedElsewhere where it has passed; ErrorCode::invalid_input for different calls, with `rule`, and where MPI cannot
/// be used. `ranks`: of a host, or null.
inline void together(const Ranks* ranks, const Communicator& all, const std::string& call, const std::string& rule,
                     const std::function<void()>& check) {
  if (all.size() == 1) return check();
  if (ranks != nullptr) {
    if (const std::string why = ranks->obstacle(); !why.empty()) refuse(why);
  }
  all_or_none(all, check);
  if (same_everywhere(all, call)) return;
  refuse(rule + "; rank " + std::to_string(all.rank()) + " of " + std::to_string(all.size()) + " called " + call);
}

/// What the writer of a program that was built with an older header knew, and zeros.
template <class Options>
Options known_options(const Options* given) {
  Options options{};
  if (given->struct_size < sizeof given->struct_size || given->struct_size > sizeof options) {
    refuse("options: struct_size = " + std::to_string(given->struct_size) + ": it must be the size of the struct, " +
           std::to_string(sizeof options) + " in this version");
  }
  std::memcpy(&options, given, given->struct_size);
  return options;
}

}  // namespace quadrille::c_calls
