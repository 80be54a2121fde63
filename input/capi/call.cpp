#include "input/capi/call.h"

#include "core/system/memory.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/task.h"

#include <new>
#include <stdexcept>

namespace quadrille::capi {

namespace {

std::string& thread_message() {
  thread_local std::string message;
  return message;
}

Context& not_within_itself(Context& context) {
  if (context.job != nullptr && context.task_thread != std::this_thread::get_id()) {
    throw Error(ErrorCode::invalid_input, "only the thread that runs a module's task may use the handles of its job");
  }
  if (context.at_work == std::this_thread::get_id()) {
    throw Error(ErrorCode::invalid_input,
                "a callback called back into its own context; make this call before or after, and pass its result to "
                "the callback");
  }
  return context;
}

}  // namespace

Turn::Turn(Context& context)
    : context_(not_within_itself(context)),
      turn_(context.turn),
      log_(context.log),
      kernels_(context.kernels),
      threads_(context.threads) {
  if (context_.lane) lane_.emplace(context_.backend, context_.lane.get());
  context_.at_work = std::this_thread::get_id();
}

Turn::~Turn() { context_.at_work = std::thread::id{}; }

void demand_mpi_thread(const Context& context) {
  if (!context.on.ranks || context.on.ranks->mpi_has_ended()) return;
  if (const std::string why = context.on.ranks->obstacle(); !why.empty()) throw Error(ErrorCode::invalid_input, why);
}

void together(const Context& context, const SameCall& call, const std::function<void()>& check) {
  const std::string product = call.product == 0 ? "" : fmt::format(", product {}", call.product);
  c_calls::together(context.on.ranks.get(), *context.on.all,
                    fmt::format("{} with {} arrays and \"{}\"{}", call.name, call.count,
                                call.words == nullptr ? "" : call.words, product),
                    "the ranks of a context must make the same calls in the same order, with the same words and as "
                    "many arrays",
                    check);
}

quadrille_status fail(Context* context, quadrille_status status, const std::string& message) noexcept {
  try {
    thread_message() = message;
    if (context != nullptr) context->message = message;
  } catch (...) {  // without memory for the message there is still the status
    thread_message().clear();
    if (context != nullptr) context->message.clear();
  }
  return status;
}

quadrille_status report_failure(Context* context) noexcept {
  try {
    throw;
  } catch (const InvalidHandle& wrong) {
    return fail(context, QUADRILLE_INVALID_HANDLE, wrong.message());
  } catch (const Stopped& stopped) {
    return fail(context, QUADRILLE_STOPPED, stopped.where);
  } catch (const FailedElsewhere& failed) {
    return fail(context, QUADRILLE_FAILED_ELSEWHERE, failed.what());
  } catch (const NotEnoughMemory& error) {
    return fail(context, QUADRILLE_NO_MEMORY, error.what());
  } catch (const Error& error) {
    return fail(context, status_of(error.code()), error.what());
  } catch (const std::bad_alloc&) {
    return fail(context, QUADRILLE_NO_MEMORY, "not enough memory");
  } catch (const std::length_error&) {  // more than any memory has
    return fail(context, QUADRILLE_NO_MEMORY, "not enough memory");
  } catch (const std::exception& error) {
    return fail(context, QUADRILLE_INTERNAL, error.what());
  } catch (...) {
    return fail(context, QUADRILLE_INTERNAL, "an exception of an unknown type");
  }
}

}  // namespace quadrille::capi

using namespace quadrille::capi;

const char* quadrille_message(const quadrille_context* handle) {
  if (handle == nullptr) return thread_message().c_str();
  try {
    const auto context = find<Context>(handle);
    std::unique_lock turn(context->turn, std::defer_lock);
    if (context->at_work != std::this_thread::get_id()) turn.lock();
    return context->message.c_str();
  } catch (...) {
    report_failure(nullptr);
    return thread_message().c_str();
  }
}
