// What the reports of density_matrix and scf_model have in common.
#pragma once

#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/functions/matrix_functions.h"
#include "modules/block_dft/tasks/matrix_inputs.h"
#include "modules/shared/plugin/task.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <vector>

namespace quadrille::block_dft {

/// The work of the products in one step or iteration: its filter bound, flops and seconds.
nlohmann::ordered_json work_json(const FunctionReport& report);

/// The GPU's share of the flops of all products that `steps` report; null where there are none.
template <class Step>
nlohmann::ordered_json device_share(const std::vector<Step>& steps) {
  double flops = 0, there = 0;
  for (const Step& step : steps) {
    flops += step.report.flops;
    there += step.report.device_flops;
  }
  return flops > 0 ? nlohmann::ordered_json(there / flops) : nlohmann::ordered_json(nullptr);
}

/// Idempotency, commutation and the estimate of the error of tr(PH), where the job wants them.
template <class M>
std::optional<DensityCheck> check_of(const TaskContext& context, const M& p, const M& h, const M& s) {
  if (!context.boolean("check")) return std::nullopt;
  const double eps = context.has("check_eps") ? context.real("check_eps") : context.real("eps") / 100;
  return check_density(p, h, s, eps);
}
nlohmann::ordered_json check_json(const std::optional<DensityCheck>& check);

/// An energy beside that of the dense method, which took `dense_seconds`; the difference for each of `blocks` blocks.
nlohmann::ordered_json comparison_json(double energy, double dense_energy, double dense_seconds, std::int64_t blocks);

/// P into `density.file`, where the job has one. Collective.
template <class M>
void save_density(const TaskContext& context, const M& p, double electrons) {
  if (!context.has("density.file")) return;
  write_symmetric(context.output_file("density.file"), context.text("density.dataset"), on_host(p), electrons);
}

}  // namespace quadrille::block_dft
