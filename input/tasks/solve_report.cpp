#include "input/tasks/solve_report.h"

#include <cmath>

namespace quadrille {

using Json = nlohmann::ordered_json;

namespace {

Json sloppy_json(const SolverSpec& spec) {
  if (spec.scheme == Scheme::uniform) return nullptr;
  return {{"precision", to_string(spec.sloppy.precision)},
          {"reconstruct", int(spec.sloppy.reconstruct)},
          {"temporal_gauge", spec.sloppy.temporal_gauge}};
}

Json kernels_json(const std::vector<KernelRecord>& kernels) {
  Json out = Json::array();
  for (const KernelRecord& kernel : kernels) {
    if (kernel.calls == 0) continue;
    Json one;
    one["name"] = kernel.name;
    one["instruction_set"] = kernel.isa;
    one["bytes_per_site"] = kernel.bytes_per_site;
    one["calls"] = kernel.calls;
    one["sites"] = kernel.sites;
    one["seconds"] = kernel.seconds > 0 ? Json(kernel.seconds) : Json(nullptr);  // a GPU's are not measured one by one
    out.push_back(std::move(one));
  }
  return out;
}

Json history_json(const std::vector<HistoryEntry>& history) {
  Json out = Json::array();
  for (const HistoryEntry& entry : history) {
    const bool computed = !std::isnan(entry.true_residual);
    out.push_back(Json::array({entry.iteration, entry.iterated, computed ? Json(entry.true_residual) : Json(nullptr)}));
  }
  return out;
}

}  // namespace

Json solve_json(const SolveLabel& label, const SolverSpec& spec, const SolveReport& report,
                const std::vector<KernelRecord>& kernels) {
  Json out;
  out["task"] = label.task;
  out["spin"] = label.spin;
  out["color"] = label.color;
  out["mass"] = label.mass;
  out["kappa"] = label.kappa;
  out["solver"] = spec.type;
  out["preconditioning"] = {{"form", to_string(label.preconditioning.kind)},
                            {"parity", label.preconditioning.kept == Parity::Even ? "even" : "odd"}};
  out["scheme"] = to_string(spec.scheme);
  out["precision"] = to_string(spec.precision);
  out["sloppy"] = sloppy_json(spec);
  out["tolerance"] = spec.tolerance;
  out["converged"] = report.converged;
  out["stop_reason"] = to_string(report.stop_reason);
  out["iterations"] = report.iterations;
  out["patience"] = report.patience;
  out["reliable_updates"] = report.reliable_updates;
  if (report.deflation_vectors) out["deflation_vectors"] = *report.deflation_vectors;
  out["residual"] = report.residual;
  out["seconds"] = report.seconds;
  out["gflops"] = report.seconds > 0 ? report.flops / report.seconds * 1e-9 : 0;
  out["batch"] = label.at_once;
  out["kernels"] = kernels_json(kernels);
  out["history"] = history_json(report.history);
  return out;
}

}  // namespace quadrille
