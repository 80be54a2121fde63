#include "modules/eigen/tasks/results.h"

#include "core/comm/agreement.h"
#include "core/system/log.h"
#include "modules/shared/hdf5/hdf5_file.h"

#include <algorithm>
#include <optional>

namespace quadrille::eigen {
namespace {

using Json = nlohmann::ordered_json;

Json phases_json(const std::vector<Phase>& phases) {
  Json out = Json::array();
  for (const Phase& phase : phases) {
    out.push_back({{"phase", phase.name},
                   {"seconds", phase.seconds},
                   {"flops", phase.flops > 0 ? Json(phase.flops) : Json(nullptr)}});
  }
  return out;
}

/// Eigenvalues with their numbers, evenly thinned to what a figure shows.
Json spectrum_json(const IndexRange& range, const std::vector<double>& values) {
  constexpr std::size_t most = 1000;
  const std::size_t shown = std::min(most, values.size());
  Json numbers = Json::array(), shown_values = Json::array();
  for (std::size_t k = 0; k < shown; ++k) {
    const std::size_t at = shown == 1 ? 0 : k * (values.size() - 1) / (shown - 1);
    numbers.push_back(range.first + std::int64_t(at) + 1);
    shown_values.push_back(values[at]);
  }
  return {{"number", numbers}, {"value", shown_values}};
}

}  // namespace

template <class T>
nlohmann::ordered_json results_of(const TaskContext& context, const Pairs<T>& pairs, bool generalized,
                                  std::int64_t count, double bytes, double seconds) {
  return {{"n", pairs.n},
          {"complex", is_complex<T>},
          {"generalized", generalized},
          {"first", pairs.range.first + 1},
          {"last", pairs.range.first + pairs.range.count},
          {"vectors", count},
          {"lowest", pairs.values.front()},
          {"highest", pairs.values.back()},
          {"tridiagonal_form", pairs.tridiagonal_form},
          {"bytes", bytes},
          {"threads", context.threads()},
          {"seconds", seconds},
          {"phases", phases_json(pairs.phases)},
          {"spectrum", spectrum_json(pairs.range, pairs.values)}};
}

nlohmann::ordered_json refinements_json(const std::vector<Refinement>& steps) {
  Json out = Json::array();
  const auto both = [](double before, double after) { return Json{{"before", before}, {"after", after}}; };
  for (const Refinement& step : steps) {
    out.push_back({{"residual", both(step.before.residual, step.after.residual)},
                   {"defect", both(step.before.defect, step.after.defect)},
                   {"orthogonality", both(step.before.orthogonality, step.after.orthogonality)},
                   {"kept", step.kept}});
  }
  return out;
}

template <class T>
void save(const TaskContext& context, const Pairs<T>& pairs,
          const std::function<std::vector<T>(IndexRange columns)>& vectors) {
  if (!context.has("save.file")) return;
  constexpr std::int64_t at_once = std::int64_t(1) << 23;  // numbers
  const Communicator& ranks = context.ranks();
  const std::string file = context.output_file("save.file");
  const auto count = std::int64_t(pairs.values.size());
  std::optional<Hdf5Writer> writer;
  on_first_rank(ranks, [&] {
    writer.emplace(file);
    writer->create("eigenvalues", {count});
    writer->rows(count, pairs.values.data());
    if (vectors) writer->create("eigenvectors", {count, pairs.n}, is_complex<T>);
  });
  const std::int64_t some = std::max<std::int64_t>(1, at_once / pairs.n);
  for (std::int64_t first = 0; vectors && first < count; first += some) {
    const IndexRange columns{pairs.range.first + first, std::min(some, count - first)};
    const std::vector<T> panel = vectors(columns);
    on_first_rank(ranks, [&] { writer->rows(columns.count, panel.data()); });
  }
  on_first_rank(ranks, [&] { writer->commit(); });
}

template <class T>
void tell(const TaskContext& context, const Pairs<T>& pairs, double seconds) {
  log().info("{}: eigenvalues {} to {} of {}, {:.6g} to {:.6g}: {:.3g} s", context.task_name(), pairs.range.first + 1,
             pairs.range.first + pairs.range.count, pairs.n, pairs.values.front(), pairs.values.back(), seconds);
}

template nlohmann::ordered_json results_of(const TaskContext&, const Pairs<double>&, bool, std::int64_t, double,
                                           double);
template void save(const TaskContext&, const Pairs<double>&, const std::function<std::vector<double>(IndexRange)>&);
template void tell(const TaskContext&, const Pairs<double>&, double);
template nlohmann::ordered_json results_of(const TaskContext&, const Pairs<std::complex<double>>&, bool, std::int64_t,
                                           double, double);
template void save(const TaskContext&, const Pairs<std::complex<double>>&,
                   const std::function<std::vector<std::complex<double>>(IndexRange)>&);
template void tell(const TaskContext&, const Pairs<std::complex<double>>&, double);

}  // namespace quadrille::eigen
