#include "input/tasks/hadrons/quarks.h"

#include "input/contractions/gaussian_smearing.h"
#include "input/contractions/momenta_parameter.h"
#include "input/tasks/propagator/source_place.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* sink_smearing = "sink_smearing";

void warn_of_other_links(JobRun& job, const std::string& one, const std::string& other) {
  if (find_task(job.job(), one).links_from != find_task(job.job(), other).links_from)
    job.warn(fmt::format("the propagators '{}' and '{}' are on different links", one, other));
}

}  // namespace

Parameter sink_smearing_parameter() {
  return smearing_parameter(sink_smearing, "what smears the quarks in space at the sink");
}

void check_hadrons(const TaskSpec& task, const Dims& dims, std::vector<Error>& errors) {
  check_momenta(*task.parameters, dims, errors);
}

void check_same_source(const TaskSpec& task, const Job& job, const std::string& second, std::vector<Error>& errors) {
  if (!task.parameters->has(second)) return;
  const std::string& from = task.parameters->text("from");
  if (same_source(job, from, task.parameters->text(second))) return;
  errors.emplace_back(ErrorCode::invalid_input,
                      fmt::format("'{}' must name a propagator from the same source as '{}'", second, from),
                      task.parameters->where(second));
}

HadronQuarks::HadronQuarks(JobRun& job, const TaskSpec& task, const std::string& second, bool contracted) {
  const Parameters& parameters = *task.parameters;
  const bool two = parameters.has(second);
  const auto sink = make_smearing(parameters, sink_smearing, *job.gauge().links);
  {
    const SolvedPropagator& propagator = job.propagator(parameters.text("from"));
    const JobClock::Span contracting = job.count(Phase::contractions);
    source_ = propagator.source;
    solved_ = propagator.unsolved == 0;
    if (solved_ && !two && !sink) norms_ = slice_norms(propagator.field);
    if (solved_ && contracted) first_.emplace(propagator.field, sink.get());
  }
  if (!two) return;
  warn_of_other_links(job, parameters.text("from"), parameters.text(second));
  const SolvedPropagator& propagator = job.propagator(parameters.text(second));  // the first may leave the backend
  const JobClock::Span contracting = job.count(Phase::contractions);
  solved_ = solved_ && propagator.unsolved == 0;
  if (solved_) second_.emplace(propagator.field, sink.get());
}

Json correlator_json(const SpaceSums* sums, std::size_t output, std::size_t momentum, const Momentum& n,
                     std::size_t times, bool real) {
  std::vector<Json> re(times), im(times);
  for (std::size_t t = 0; sums != nullptr && t < times; ++t) {
    const std::complex<double> value = sums->of(output, momentum)[t];
    re[t] = value.real();
    im[t] = value.imag();
  }
  Json out = {{"momentum", n}, {"re", std::move(re)}};
  if (!real) out["im"] = std::move(im);
  return out;
}

}  // namespace quadrille
