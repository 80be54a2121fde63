// The module ri_mp2: the task `ri_mp2`; `ri_mp2_study` is in study_task.h.
#include "modules/shared/plugin/task.h"
#include "core/backend/backend.h"
#include "core/system/log.h"
#include "modules/ri_mp2/ri_mp2.h"
#include "modules/ri_mp2/tasks/cap_parameters.h"
#include "modules/ri_mp2/tasks/generated_parameter.h"
#include "modules/ri_mp2/tasks/study_task.h"
#include "modules/ri_mp2/tasks/system_file.h"
#include "modules/shared/plugin/parameters.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

namespace quadrille::ri_mp2 {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

Options read_options(const TaskContext& context) {
  Options options;
  options.products = mgemm::read_precision(context);
  options.step3 = context.has("delta_step3") ? mgemm::read_cutoff(context, "delta_step3") : options.products.cutoff;
  options.memory = context.integer("memory") << 20;
  options.memory_cap = context.integer("memory_cap") << 20;
  return options;
}

void check(const TaskContext& context) {
  (void)read_options(context);
  check_scratch(context);
  if (context.has("file")) check_system(Hdf5Reader(context.input_file("file")));
}

/// The generated system of the job; with a cap on the host's memory its (ia|P) is made when it is asked for.
System made_system(const TaskContext& context, const Options& options) {
  return options.memory_cap > 0 && options.backend->host_memory() ? generated_on_demand(context)
                                                                  : generated_system(context);
}

Json step_json(const Step& step) {
  Json out = {{"form", step.form}, {"seconds", step.seconds}, {"gflops", step.flops / step.seconds * 1e-9}};
  if (step.energy_error > 0) out["energy_error"] = step.energy_error;
  if (step.streamed > 0) out["streamed_bytes"] = step.streamed;
  return out;
}

/// SCS-MP2: S. Grimme, J. Chem. Phys. 118 (2003) 9095.
double spin_component_scaled(const Energy& energy) {
  return 6.0 / 5.0 * energy.opposite_spin + 1.0 / 3.0 * energy.same_spin;
}

void compute(const TaskContext& context) {
  std::optional<Hdf5Reader> file;
  if (context.has("file")) file.emplace(context.input_file("file"));
  Options options = read_options(context);
  options.backend = &find_backend(context.backend());
  const System system = file ? open_system(*file) : made_system(context, options);
  if (needs_scratch(system, options)) options.scratch = scratch_of(context);
  options.progress = [&](double fraction) { context.progress_or_stop("integrals and energy", fraction); };
  const Energy energy = correlation_energy(system, options);
  Json out = {{"e_corr", energy.correlation},
              {"opposite_spin", energy.opposite_spin},
              {"same_spin", energy.same_spin},
              {"e_corr_scs", spin_component_scaled(energy)},
              {"occupied", system.occupied},
              {"virtual", system.virtuals},
              {"auxiliary", system.auxiliary},
              {"precision", context.text("precision")},
              {"backend", context.backend()},
              {"batch", energy.batch},
              {"metric", {{"seconds", energy.metric_seconds}}},
              {"step3", step_json(energy.step3)},
              {"step4", step_json(energy.step4)},
              {"energy", {{"seconds", energy.energy_seconds}}}};
  if (energy.stream.memory > 0) out["stream"] = {{"memory", energy.stream.memory}, {"kept", energy.stream.kept}};
  if (const std::optional<double> known = file ? file->attribute("e_mp2_corr") : std::nullopt) {
    out["of_file"] = *known;
    out["deviation"] = energy.correlation - *known;
  }
  log().info("{}: {} occupied, {} virtual, {} auxiliary functions: correlation energy {:.10f} Hartree",
             context.task_name(), system.occupied, system.virtuals, system.auxiliary, energy.correlation);
  context.result(out.dump());
}

constexpr quadrille_parameter parameters[] = {
    file_in("file", "HDF5: ia_P [occupied, virtual, auxiliary] = (ia|P), P_Q = (P|Q), eps_occ, eps_vir"),
    generated_parameter,
    mgemm::precision_parameter,
    mgemm::delta_parameter,
    mgemm::delta_parameter_of(
        "delta_step3",
        "the same for B = (ia|P) (P|Q)^{-1/2}; auto means double; default: as `delta`; with an automatic `delta` its "
        "errors count towards `target_error`; if they may exceed it, B is made in double",
        nullptr),
    real("target_error", "largest error that an automatic delta may make in the energy", "1.0e-7", above(0), "Hartree"),
    choice("assurance",
           "how the target is kept: certain, by a bound on all rounding errors, which is far above them; measured, by "
           "a sample of the integrals in double",
           "measured", mgemm::sampled_assurances),
    mgemm::always_split_parameter,
    memory("memory for a batch of integrals; (ia|P), B and, with mgemm, the split of B come on top", "1024", 1),
    memory_cap_parameter,
    scratch_parameter};

constexpr const char* sources[] = {"file", "generated", nullptr};
constexpr const char* const* one_source[] = {sources, nullptr};

constexpr quadrille_task tasks[] = {
    {.name = "ri_mp2",
     .help = "the closed-shell MP2 correlation energy in the resolution of the identity (RI-MP2)",
     .parameters = parameters,
     .parameter_count = std::size(parameters),
     .exactly_one_of = one_source,
     .check = task_function<check>,
     .run = task_function<compute>},
    {.name = "ri_mp2_study",
     .help = "errors and speed of RI-MP2 in mixed and single precision compared with double",
     .parameters = study_parameters,
     .parameter_count = study_parameter_count,
     .check = task_function<check_study>,
     .run = task_function<run_study>}};
constexpr const char* blocks[] = {"ri_mp2_studies", nullptr};

constexpr quadrille_module module = module_of("ri_mp2", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::ri_mp2

extern "C" const quadrille_module* quadrille_module_ri_mp2(void) { return &quadrille::ri_mp2::module; }
