// Gauge fields of the C API: read, made, given by the host; observables; files.
#include "input/job/gauge.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/files/gauge_file.h"
#include "input/job/blocks.h"

#include <algorithm>
#include <optional>

namespace quadrille::capi {

namespace {

void save(const GaugeStore& links, const Parameters& words) {
  write_gauge_file(words.text("file"), links, {.precision = words.text("precision") == "double" ? 64 : 32});
}

std::shared_ptr<GaugeObject> create(const std::shared_ptr<Context>& context, const char* words,
                                    quadrille_gauge** made) {
  Job job;
  together(*context, {"quadrille_gauge_create", words}, [&] {
    (void)required(made, new_handle);
    job.gauge = read_words(gauge_block(), words);
    if (job.gauge->has("files")) {
      throw Error(ErrorCode::invalid_input, "'files' is for jobs on several configurations: give 'file', one of them",
                  job.gauge->where("files"));
    }
    (void)gauge_dims(job);  // a file that cannot be read is told here
  });
  LoadedGauge loaded = load_gauge(job, context->backend, context->on.grid);
  for (const std::string& warning : loaded.warnings) log().warn(warning);
  // A job's tasks leave its links alone; a host may replace its own.
  auto links = std::const_pointer_cast<GaugeStore>(loaded.links);
  if (job.gauge->has("save")) save(*links, job.gauge->group("save"));
  nlohmann::ordered_json origin;
  for (const char* key : {"file", "format", "checksum"}) origin[key] = loaded.report.at(key);
  return std::make_shared<GaugeObject>(
      GaugeObject{context, std::move(loaded.lattice), std::move(links), nullptr, std::move(origin)});
}

std::shared_ptr<GaugeObject> from_memory(const std::shared_ptr<Context>& context, const char* words,
                                         const void* const* arrays, std::size_t count, quadrille_gauge** made) {
  const char* const name = "quadrille_gauge_from_memory";
  std::shared_ptr<const Parameters> read;
  together(*context, {name, words, count}, [&] {
    (void)required(made, new_handle);
    read = read_words(new_links_table(), words, "links");
  });
  const Dims dims = read->integer4("dims");
  auto lattice = std::make_unique<const Lattice>(dims, context->on.grid.for_lattice(dims));
  std::optional<LinkArrays> host;
  std::shared_ptr<GaugeStore> links;
  together(*context, {name}, [&] {
    host.emplace(*read, *lattice, arrays, count, context->given());
    links = std::make_shared<GaugeStore>(*lattice, context->backend);
  });
  host->read_into(*links);
  return std::make_shared<GaugeObject>(GaugeObject{context, std::move(lattice), std::move(links), host->points()});
}

LinkArrays links_of(GaugeObject& gauge, const SameCall& call, const void* const* arrays) {
  std::optional<LinkArrays> host;
  together(gauge.context(), call, [&] {
    const auto read = read_words(links_table(), call.words, "links");
    host.emplace(*read, *gauge.lattice, arrays, call.count, gauge.context().given());
  });
  return *std::move(host);
}

nlohmann::ordered_json json_of(const GaugeObject& gauge) {
  const GaugeObservables seen = gauge.links->observables();
  nlohmann::ordered_json out = gauge.origin.is_null() ? nlohmann::ordered_json::object() : gauge.origin;
  out["dims"] = gauge.lattice->global_dims();
  out["plaquette"] = seen.plaquette;
  for (std::size_t k = 0; k < plane_names.size(); ++k) out["planes"][plane_names[k]] = seen.planes[k];
  out["link_trace"] = seen.link_trace;
  out["unitarity"] = {{"unitarity", seen.unitarity.unitarity}, {"determinant", seen.unitarity.determinant}};
  return out;
}

const Parameter& save_group() {
  for (const Parameter& member : gauge_block().members) {
    if (member.name == "save") return member;
  }
  throw Error(ErrorCode::internal, "the gauge block has no 'save'");
}

}  // namespace

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_gauge_create(quadrille_context* handle, const char* words, quadrille_gauge** made) {
  return make<Context>(handle, made, [&](const auto& context) { return create(context, words, made); });
}

quadrille_status quadrille_gauge_from_memory(quadrille_context* handle, const char* words, const void* const* arrays,
                                             size_t count, quadrille_gauge** made) {
  return make<Context>(handle, made,
                       [&](const auto& context) { return from_memory(context, words, arrays, count, made); });
}

quadrille_status quadrille_gauge_update(quadrille_gauge* handle, const char* words, const void* const* arrays,
                                        size_t count) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    if (gauge->fixed)
      throw Error(ErrorCode::unsupported, "the links of a job cannot be changed; create a gauge field of your own");
    const LinkArrays host = links_of(*gauge, {"quadrille_gauge_update", words, count}, arrays);
    gauge->origin = nullptr;
    gauge->points = host.points();
    host.read_into(*gauge->links);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_to_memory(quadrille_gauge* handle, const char* words, void* const* arrays,
                                           size_t count) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    links_of(*gauge, {"quadrille_gauge_to_memory", words, count}, arrays).write_from(*gauge->links);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_save(quadrille_gauge* handle, const char* words) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    std::shared_ptr<const Parameters> read;
    together(gauge->context(), {"quadrille_gauge_save", words}, [&] { read = read_words(save_group(), words); });
    save(*gauge->links, *read);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_dims(quadrille_gauge* handle, int dims[4]) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    std::ranges::copy(gauge->lattice->global_dims(), required(dims, "dims"));
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_part(quadrille_gauge* handle, int dims[4], int origin[4]) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    required(origin, "origin");
    std::ranges::copy(gauge->lattice->dims(), required(dims, "dims"));
    std::ranges::copy(gauge->lattice->origin(), origin);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_plaquettes(quadrille_gauge* handle, double plaquettes[7]) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    together(gauge->context(), {"quadrille_gauge_plaquettes"}, [&] { required(plaquettes, "plaquettes"); });
    const GaugeObservables seen = gauge->links->observables();
    plaquettes[0] = seen.plaquette;
    std::ranges::copy(seen.planes, plaquettes + 1);
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_json(quadrille_gauge* handle, const char** json) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    Context& context = gauge->context();
    together(context, {"quadrille_gauge_json"}, [&] { *required(json, "the place for the text") = ""; });
    context.text = json_of(*gauge).dump();
    *json = context.text.c_str();
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_gauge_destroy(quadrille_gauge* handle) { return destroy<GaugeObject>(handle); }
