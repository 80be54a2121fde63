#include "input/plugins/module_run.h"

#include "core/comm/agreement.h"
#include "input/capi/call.h"
#include "input/job/job.h"
#include "modules/shared/plugin/loader.h"

#include <new>

namespace quadrille {

std::string of_module(const TaskSpec& task, const std::string& what) {
  return fmt::format("the module '{}': {}", task.entry->module->descriptor.name, what);
}

quadrille_status defect(quadrille_run* run, const std::string& what) {
  set_failure(run, std::make_exception_ptr(Error(ErrorCode::internal, of_module(run->task, what))));
  return QUADRILLE_FAILED;
}

void set_failure(quadrille_run* run, std::exception_ptr failure) {
  if (!run->failure) run->failure = std::move(failure);
}

void note_foreign_call(quadrille_run* run) {
  if (const char* name = run->foreign_call) {
    (void)defect(
        run,
        fmt::format("it calls the host's function '{}' from a thread other than the one that it was called on", name));
  }
}

void note_exception(quadrille_run* run) {
  try {
    throw;
  } catch (const Error&) {
    set_failure(run, std::current_exception());
  } catch (const FailedElsewhere&) {
    set_failure(run, std::current_exception());
  } catch (const std::bad_alloc&) {
    set_failure(run, std::current_exception());
  } catch (const capi::InvalidHandle& wrong) {
    (void)defect(run, fmt::format("the {} that it passes {}", wrong.wanted, wrong.why));
  } catch (const std::exception& error) {
    (void)defect(run, error.what());
  } catch (...) {
    (void)defect(run, "an exception of an unknown type");
  }
}

const char* keep_text(quadrille_run* run, std::string text) { return run->texts.emplace_back(std::move(text)).c_str(); }

}  // namespace quadrille
