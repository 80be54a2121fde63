#include "core/gauge/gauge_store.h"
#include "core/tuning/kernel_log.h"
#include "input/bench/measurements.h"
#include "modules/quenched/pure_gauge.h"

namespace quadrille::bench {
namespace {

constexpr std::uint64_t generate_seed = 20091117;

/// One update of all links, heatbath or overrelaxation: eight passes, each over one direction and parity.
Row update_row(const Bench& bench, quenched::PureGauge& gauge, bool heatbath) {
  const FieldDesc& desc = gauge.field().desc();
  std::uint64_t sweep = 0;
  const auto update = [&] {
    if (heatbath) {
      gauge.heatbath(sweep++);
    } else {
      gauge.overrelax();
    }
  };
  const auto before = kernel_records();
  update();
  const KernelRecord record = kernel_records_since(before).front();  // its traffic
  Row row = bench.row(heatbath ? "heatbath" : "overrelaxation", desc.precision);
  row.parity = "both";
  row.sites = volume(bench.lattice.global_dims());
  row.reconstruct = int(desc.reconstruct);
  row.bytes_per_site = 4 * record.bytes_per_site;  // four links a site
  row.isa = record.isa;
  row.seconds = bench.time(update);
  row.link_updates = 4 * row.sites;
  return row;
}

}  // namespace

void measure_generate(const Bench& bench) {
  const GaugeStore start(bench.lattice, GaugeStart::weak(generate_seed, 0.3), bench.backend);
  for (Precision precision : bench.precisions()) {
    for (Reconstruct reconstruct : bench.reconstructs()) {
      if (precision == Precision::Half || reconstruct == Reconstruct::R8) continue;
      quenched::PureGauge gauge(start, {6, 1}, generate_seed, {precision, reconstruct});
      for (std::uint64_t number = 0; number < 5; ++number) gauge.sweep(number, 1);  // links as chains have them
      (void)gauge.reunitarize();
      for (bool heatbath : {true, false}) bench.add(update_row(bench, gauge, heatbath));
    }
  }
}

}  // namespace quadrille::bench
