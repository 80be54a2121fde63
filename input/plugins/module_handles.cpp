#include "input/plugins/module_handles.h"

#include "dirac/registry.h"
#include "input/capi/call.h"
#include "input/job/blocks.h"
#include "input/job/job.h"
#include "input/run/job_run.h"

#include <omp.h>

namespace quadrille {

using capi::Kind;

namespace {

void demand(bool said, const char* what, const char* flag) {
  if (!said) throw std::invalid_argument(fmt::format("it asks for {} without the flag {}", what, flag));
}

}  // namespace

ModuleHandles::ModuleHandles(JobRun& job, const TaskSpec& task)
    : job_(job),
      task_(task),
      home_(std::make_shared<capi::Context>(job.backend(), omp_get_max_threads(), log(), job)),
      context_handle_(add<quadrille_context>(home_)) {}

ModuleHandles::~ModuleHandles() {
  capi::handles().remove_owned(home_.get());
  for (const auto& [memory, bytes] : memory_) job_.backend().release(memory, bytes);
}

template <class Handle, class Object>
Handle* ModuleHandles::add(std::shared_ptr<Object> object) const {
  return reinterpret_cast<Handle*>(std::uintptr_t(capi::handles().add(Object::kind, std::move(object), home_.get())));
}

quadrille_gauge* ModuleHandles::gauge() {
  demand(task_.entry->needs_links, "links", "QUADRILLE_NEEDS_LINKS");
  if (gauge_ == nullptr) {
    const LoadedGauge& loaded = job_.gauge();
    // Only reading functions get at links that are `fixed`.
    gauge_object_ = std::make_shared<capi::GaugeObject>(
        capi::GaugeObject{home_, loaded.lattice, std::const_pointer_cast<GaugeStore>(loaded.links), nullptr, {}, true});
    gauge_ = add<quadrille_gauge>(gauge_object_);
  }
  return gauge_;
}

quadrille_operator* ModuleHandles::dirac_operator() {
  demand(task_.entry->needs_operator, "an operator", "QUADRILLE_NEEDS_OPERATOR");
  if (operator_ == nullptr) {
    (void)gauge();
    const UseKernelLog kernels(home_->kernels);  // where a solve looks for its kernels
    operator_object_ = std::make_shared<capi::OperatorObject>(
        gauge_object_, find_operator(task_.op->text("type")).make(job_.gauge().links, *task_.op));
    operator_ = add<quadrille_operator>(operator_object_);
  }
  return operator_;
}

quadrille_solver* ModuleHandles::solver() {
  demand(task_.entry->needs_solver, "a solver", "QUADRILLE_NEEDS_SOLVER");
  if (solver_ == nullptr) {
    (void)dirac_operator();
    const UseKernelLog kernels(home_->kernels);
    solver_ = add<quadrille_solver>(std::make_shared<capi::SolverObject>(operator_object_, solver_spec(*task_.solver)));
  }
  return solver_;
}

quadrille_propagator* ModuleHandles::propagator(const std::string& task) {
  quadrille_propagator*& handle = propagators_[task];
  const SolvedPropagator& found = job_.propagator(task);  // each time: the last one stays where it is
  if (handle == nullptr) {
    handle = add<quadrille_propagator>(
        std::make_shared<capi::PropagatorObject>(capi::PropagatorObject{home_, &found.field}));
  }
  return handle;
}

quadrille_gauge* ModuleHandles::handle_of(const GaugeStore& links) {
  const auto stays = [](const auto*) {};  // nothing ends with the handle, and nobody changes what is behind it
  return add<quadrille_gauge>(std::make_shared<capi::GaugeObject>(capi::GaugeObject{
      home_, {&links.lattice(), stays}, {const_cast<GaugeStore*>(&links), stays}, nullptr, {}, true}));
}

const void* ModuleHandles::object(const void* handle) const {
  const auto value = reinterpret_cast<std::uintptr_t>(handle);
  const auto find = [&]<class Object>(const Object*) {
    return std::static_pointer_cast<Object>(capi::handles().find(Object::kind, value));
  };
  switch (capi::kind_of(value)) {
    case Kind::op: return find((const capi::OperatorObject*)nullptr)->dirac.get();
    case Kind::solver: return &find((const capi::SolverObject*)nullptr)->systems.direct();
    case Kind::propagator: return find((const capi::PropagatorObject*)nullptr)->propagator;
    case Kind::context: return &job_.communicator();
    default: return find((const capi::GaugeObject*)nullptr)->links.get();
  }
}

const GaugeStore& ModuleHandles::links(const quadrille_gauge* handle) const {
  return *capi::find<capi::GaugeObject>(handle)->links;
}

void* ModuleHandles::allocate(std::size_t bytes) {
  void* memory = job_.backend().allocate(bytes);
  memory_.emplace(memory, bytes);
  return memory;
}

void ModuleHandles::release(void* memory) {
  const auto found = memory_.find(memory);
  if (found == memory_.end()) throw std::invalid_argument("it releases memory that it was not given");
  job_.backend().release(memory, found->second);
  memory_.erase(found);
}

ModuleHandles& handles_of(quadrille_run* run) {
  if (!run->handles) run->handles = std::make_shared<ModuleHandles>(*run->job, run->task);
  return *run->handles;
}

}  // namespace quadrille
