// The handles and the memory that a task of a module is given.
#pragma once

#include "input/capi/objects.h"
#include "input/plugins/module_run.h"

#include <map>
#include <memory>
#include <string>

namespace quadrille {

/// What one run of a task has been given; ends with it.
class ModuleHandles {
 public:
  ModuleHandles(JobRun& job, const TaskSpec& task);
  ~ModuleHandles();
  ModuleHandles(const ModuleHandles&) = delete;
  ModuleHandles& operator=(const ModuleHandles&) = delete;

  quadrille_context* context() const { return context_handle_; }
  /// Made at the first call. Throw std::invalid_argument for a task that has not said that it needs them.
  quadrille_gauge* gauge();
  quadrille_operator* dirac_operator();
  quadrille_solver* solver();
  quadrille_propagator* propagator(const std::string& task);
  /// Of links that somebody else keeps as long as the handle.
  quadrille_gauge* handle_of(const GaugeStore& links);
  /// What stands behind a handle; of a context's, the communicator of the job.
  const void* object(const void* handle) const;
  /// The links behind a handle.
  const GaugeStore& links(const quadrille_gauge* handle) const;

  void* allocate(std::size_t bytes);
  void release(void* memory);

 private:
  template <class Handle, class Object>
  Handle* add(std::shared_ptr<Object> object) const;

  JobRun& job_;
  const TaskSpec& task_;
  std::shared_ptr<capi::Context> home_;
  quadrille_context* context_handle_ = nullptr;
  std::shared_ptr<capi::GaugeObject> gauge_object_;
  std::shared_ptr<capi::OperatorObject> operator_object_;
  quadrille_gauge* gauge_ = nullptr;
  quadrille_operator* operator_ = nullptr;
  quadrille_solver* solver_ = nullptr;
  std::map<std::string, quadrille_propagator*> propagators_;
  std::map<void*, std::size_t> memory_;
};

/// Those of a task at work, made at the first call.
ModuleHandles& handles_of(quadrille_run* run);

}  // namespace quadrille
