#include "input/job/gauge.h"

#include "core/gauge/observables.h"
#include "core/gauge/start.h"
#include "core/parameters/parameter_values.h"
#include "input/files/lattice_data.h"
#include "input/job/document.h"

#include <fmt/format.h>

#include <cmath>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

Json checksum_json(const Checksum& sum, const char* verdict, ChecksumKind kind = ChecksumKind::scidac) {
  Json out = Json::object();
  for (const auto& [name, digits] : named_sums(sum, kind)) out[name] = digits;
  out["verdict"] = verdict;
  return out;
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

LoadedGauge read_links(const Job& job, Backend& backend, const RankGrid& ranks) {
  const Parameters& block = *job.gauge;
  GaugeReadOptions options;
  options.verify_checksum = block.boolean("verify_checksum");
  options.backend = &backend;
  options.ranks = ranks;
  GaugeFile file = read_gauge_file(job.input_path(block.text("file")).string(), options);
  LoadedGauge gauge;
  GaugeStore& links = *file.links;
  gauge.report = {{"file", block.text("file")}, {"format", file.info.format}};
  gauge.origin = file.info.origin;
  if (!gauge.origin.empty()) gauge.report["origin"] = origin_json(gauge.origin);
  const ChecksumVerdict& verdict = file.info.checksum;
  gauge.report["checksum"] = checksum_json(verdict.computed, verdict_name(verdict.state), verdict.kind);
  if (verdict.state == ChecksumVerdict::State::mismatch) {
    gauge.warnings.push_back(fmt::format("{}: checksum {}", file.info.path, to_string(verdict)));
  } else if (const std::optional<Error> error = contradiction(file.info)) {
    gauge.warnings.push_back(error->what());
  }
  if (verdict.state == ChecksumVerdict::State::missing) {
    gauge.warnings.push_back(fmt::format("{}: no checksum: the data cannot be verified", file.info.path));
  }
  GaugeObservables seen = links.observables();
  const bool project = block.boolean("reunitarize");
  if (project) {
    const double change = links.project();
    seen = links.observables();
    gauge.warnings.push_back(
        fmt::format("links were projected on SU(3); no element changed by more than {:.3g}", change));
  } else {
    check_links(file.info, seen.unitarity);
  }
  add_observables(gauge, seen);
  // Where nothing changed the links, reading may have summed up the same bytes.
  gauge.checksum = to_string(!project && file.info.links_sum ? *file.info.links_sum : checksum_of(links));
  gauge.lattice = std::move(file.lattice);
  gauge.links = std::move(file.links);
  return gauge;
}

void add_origin(LoadedGauge& gauge, const std::string& format) {
  gauge.report = {{"file", nullptr}, {"format", format}};
  const Checksum sum = checksum_of(*gauge.links);
  gauge.report["checksum"] = checksum_json(sum, "computed");
  gauge.checksum = to_string(sum);
  add_observables(gauge, gauge.links->observables());
}

LoadedGauge start_links(const Parameters& block, Backend& backend, const RankGrid& ranks) {
  LoadedGauge gauge;
  const Dims dims = block.integer4("dims");
  gauge.lattice = std::make_unique<const Lattice>(dims, ranks.for_lattice(dims));
  const std::string& start = block.text("start");
  const auto seed = [&] { return std::uint64_t(block.integer("seed")); };
  gauge.links = std::make_shared<GaugeStore>(*gauge.lattice,
                                             start == "cold"  ? GaugeStart::cold()
                                             : start == "hot" ? GaugeStart::hot(seed())
                                                              : GaugeStart::weak(seed(), block.real("epsilon")),
                                             backend);
  add_origin(gauge, start + " start");
  gauge.origin = {{"program", "Quadrille " QUADRILLE_VERSION}, {"start", start}};
  for (const char* name : {"epsilon", "seed"}) {
    if (block.has(name)) gauge.origin.emplace_back(name, to_json(block).at(name).dump());
  }
  return gauge;
}

}  // namespace

LoadedGauge load_gauge(const Job& job, Backend& backend, const RankGrid& ranks) {
  return job.gauge->has("file") ? read_links(job, backend, ranks) : start_links(*job.gauge, backend, ranks);
}

void demand_finite(const Unitarity& found, const Dims& dims) {
  if (std::isfinite(found.unitarity)) return;
  throw Error(ErrorCode::numerical, fmt::format("the links are not finite: the first such one is at {}",
                                                link_name(dims, found.unitarity_site, found.unitarity_direction)));
}

Json origin_json(const LinkOrigin& origin) {
  Json out = Json::object();
  for (const auto& [name, text] : origin) {
    const auto whole = parse_integer(text);
    const auto real = parse_real(text);
    out[name] = whole ? Json(*whole) : real ? Json(*real) : Json(text);
  }
  return out;
}

LoadedGauge held_gauge(std::shared_ptr<const Lattice> lattice, std::shared_ptr<const GaugeStore> links,
                       const std::string& format) {
  LoadedGauge gauge;
  gauge.lattice = std::move(lattice);
  gauge.links = std::move(links);
  demand_finite(gauge.links->unitarity(), gauge.lattice->global_dims());
  add_origin(gauge, format);
  return gauge;
}

Dims gauge_dims(const Job& job) {
  if (!job.gauge->has("file")) return job.gauge->integer4("dims");
  return gauge_file_info(job.input_path(job.gauge->text("file")).string()).dims;
}

}  // namespace quadrille
