#include "modules/block_dft/tasks/density_report.h"

#include <cmath>

namespace quadrille::block_dft {

using Json = nlohmann::ordered_json;

Json work_json(const FunctionReport& report) {
  return {{"filter_bound", report.bound},          {"flops", report.flops},
          {"single_flops", report.single_flops},   {"device_flops", report.device_flops},
          {"index_seconds", report.index_seconds}, {"product_seconds", report.product_seconds}};
}

Json check_json(const std::optional<DensityCheck>& check) {
  if (!check) return Json::object();
  return {{"idempotency", check->idempotency},
          {"commutation", check->commutation},
          {"energy_error_estimate", check->energy_error}};
}

Json comparison_json(double energy, double dense_energy, double dense_seconds, std::int64_t blocks) {
  return {{"dense_energy", dense_energy},
          {"dense_seconds", dense_seconds},
          {"energy_error_per_block", std::abs(energy - dense_energy) / double(blocks)}};
}

}  // namespace quadrille::block_dft
