#include "input/gauge.h"

#include "core/gauge/observables.h"
#include "core/gauge/start.h"
#include "core/gauge/su3_project.h"
#include "input/files/gauge_file.h"
#include "input/files/lattice_data.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

/// The SciDAC checksum that these links have in a 64-bit file.
Checksum checksum_of(const HostLinks& links) {
  return checksum_of_field({.dims = links.dims, .reals = 72, .precision = 64},
                           reinterpret_cast<const double*>(links.data.data()));
}

Json checksum_json(const Checksum& sum, const char* verdict) {
  return {{"suma", fmt::format("{:08x}", sum.a)}, {"sumb", fmt::format("{:08x}", sum.b)}, {"verdict", verdict}};
}

const char* verdict_name(ChecksumVerdict::State state) {
  switch (state) {
    case ChecksumVerdict::State::ok: return "ok";
    case ChecksumVerdict::State::missing: return "missing";
    case ChecksumVerdict::State::mismatch: return "mismatch";
  }
  return "unknown";
}

void add_observables(LoadedGauge& gauge, const GaugeObservables& seen) {
  gauge.plaquette = seen.plaquette;
  gauge.report["plaquette"] = seen.plaquette;
  for (std::size_t k = 0; k < plane_names.size(); ++k) gauge.report["planes"][plane_names[k]] = seen.planes[k];
  gauge.report["link_trace"] = seen.link_trace;
  gauge.report["unitarity"] = {{"unitarity", seen.unitarity.unitarity}, {"determinant", seen.unitarity.determinant}};
}

LoadedGauge read_links(const Job& job) {
  const Parameters& block = *job.gauge;
  GaugeReadOptions options;
  options.verify_checksum = block.boolean("verify_checksum");
  GaugeFile file = read_gauge_file(job.input_path(block.text("file")).string(), options);
  LoadedGauge gauge;
  HostLinks& links = file.links;
  gauge.report = {{"file", block.text("file")}, {"format", file.info.format}};
  const ChecksumVerdict& verdict = file.info.checksum;
  gauge.report["checksum"] = checksum_json(verdict.computed, verdict_name(verdict.state));
  if (verdict.state == ChecksumVerdict::State::mismatch) {
    gauge.warnings.push_back(fmt::format("{}: checksum {}", file.info.path, to_string(verdict)));
  }
  if (verdict.state == ChecksumVerdict::State::missing) {
    gauge.warnings.push_back(fmt::format("{}: has no checksum; nothing vouches for its data", file.info.path));
  }
  GaugeObservables seen = gauge_observables(links);
  const bool project = block.boolean("reunitarize");
  if (project) {
    const double change = reunitarize(links);
    seen = gauge_observables(links);
    gauge.warnings.push_back(
        fmt::format("links were projected on SU(3); the largest change of an element is {:.3g}", change));
  } else {
    check_links(file.info, seen.unitarity);
  }
  add_observables(gauge, seen);
  // Links of a 64-bit file that nothing changed: reading has summed up the same bytes.
  gauge.checksum = to_string(project || file.info.precision != 64 ? checksum_of(links) : verdict.computed);
  gauge.lattice = std::make_unique<const Lattice>(links.dims);
  gauge.source = std::make_shared<const GaugeSource>(*gauge.lattice, std::move(links));
  return gauge;
}

LoadedGauge start_links(const Parameters& block) {
  LoadedGauge gauge;
  gauge.lattice = std::make_unique<const Lattice>(block.integer4("dims"));
  const std::string& start = block.text("start");
  const auto seed = [&] { return std::uint64_t(block.integer("seed")); };
  HostLinks links = start == "cold"  ? cold_start(*gauge.lattice)
                    : start == "hot" ? hot_start(*gauge.lattice, seed())
                                     : weak_start(*gauge.lattice, seed(), block.real("epsilon"));
  gauge.report = {{"file", nullptr}, {"format", start + " start"}};
  const Checksum sum = checksum_of(links);
  gauge.report["checksum"] = checksum_json(sum, "computed");
  gauge.checksum = to_string(sum);
  add_observables(gauge, gauge_observables(links));
  gauge.source = std::make_shared<const GaugeSource>(*gauge.lattice, std::move(links));
  return gauge;
}

}  // namespace

LoadedGauge load_gauge(const Job& job) { return job.gauge->has("file") ? read_links(job) : start_links(*job.gauge); }

Dims gauge_dims(const Job& job) {
  if (!job.gauge->has("file")) return job.gauge->integer4("dims");
  const LimeInput file(job.input_path(job.gauge->text("file")).string());
  return locate_gauge_field(file).dims;
}

}  // namespace quadrille
