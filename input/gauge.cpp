#include "input/gauge.h"

#include "core/gauge/observables.h"
#include "core/gauge/start.h"
#include "core/gauge/su3_project.h"
#include "input/files/big_endian.h"
#include "input/files/gauge_file.h"

#include <fmt/format.h>

#include <bit>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

/// The SciDAC checksum that these links have in a 64-bit file.
Checksum checksum_of(const HostLinks& links) {
  constexpr std::size_t reals = 72;
  Checksum sum;
  std::vector<char> bytes(reals * sizeof(double));
  for (std::int64_t site = 0; site < volume(links.dims); ++site) {
    const Complex* from = links.link(site, 0);
    for (std::size_t k = 0; k < reals / 2; ++k) {
      store_big_u64(&bytes[16 * k], std::bit_cast<std::uint64_t>(from[k].real()));
      store_big_u64(&bytes[16 * k + 8], std::bit_cast<std::uint64_t>(from[k].imag()));
    }
    sum.add_site(std::uint64_t(site), bytes.data(), bytes.size());
  }
  return sum;
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
  if (block.boolean("reunitarize")) {
    const double change = reunitarize(links);
    seen = gauge_observables(links);
    gauge.warnings.push_back(
        fmt::format("links were projected on SU(3); the largest change of an element is {:.3g}", change));
  } else {
    check_links(file.info, seen.unitarity);
  }
  add_observables(gauge, seen);
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
  gauge.report["checksum"] = checksum_json(checksum_of(links), "computed");
  add_observables(gauge, gauge_observables(links));
  gauge.source = std::make_shared<const GaugeSource>(*gauge.lattice, std::move(links));
  return gauge;
}

}  // namespace

LoadedGauge load_gauge(const Job& job) {
  LoadedGauge gauge = job.gauge->has("file") ? read_links(job) : start_links(*job.gauge);
  gauge.checksum = to_string(checksum_of(gauge.source->links()));
  return gauge;
}

Dims gauge_dims(const Job& job) {
  if (!job.gauge->has("file")) return job.gauge->integer4("dims");
  const LimeInput file(job.input_path(job.gauge->text("file")).string());
  return locate_gauge_field(file).dims;
}

}  // namespace quadrille
