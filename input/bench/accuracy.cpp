#include "input/bench/accuracy.h"

#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/simd/isa.h"
#include "dirac/wilson.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace quadrille::bench {
namespace {

constexpr int points_per_decade = 8;

/// The columns of the table, which are keys of the JSON as well.
std::vector<std::pair<const char*, double>> columns(const Deviations& deviations) {
  return {{"smallest", deviations.smallest()},
          {"percent_10", deviations.quantile(0.1)},
          {"median", deviations.quantile(0.5)},
          {"percent_90", deviations.quantile(0.9)},
          {"largest", deviations.quantile(1)}};
}

/// All fields of this study, as users have them.
Field outside(const Lattice& lattice, Backend& backend) {
  return Field(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend));
}

}  // namespace

AccuracyStudy::AccuracyStudy(const Lattice& lattice, std::uint64_t seed, Backend& backend)
    : lattice_(&lattice),
      backend_(&backend),
      gauge_(std::make_shared<const GaugeStore>(lattice, GaugeStart::hot(seed), backend)),
      links_(gauge_->host_links()),
      vector_(lattice.dims()) {
  Field gaussian = outside(lattice, backend);
  fill_gaussian(gaussian, seed);
  export_spinor(vector_, gaussian);
  reference_ = extended_hop(links(), vector_);
}

AccuracyStudy::Product AccuracyStudy::product(const OperatorForm& form) const {
  const WilsonOperator wilson(gauge_, WilsonParameters{.boundary = {0, 0, 0, 1}}, form);
  Field original = outside(*lattice_, *backend_);
  Field x(wilson.field_desc()), y(wilson.field_desc());
  import_spinor(original, vector_);
  wilson.enter(x, original);
  for (Parity parity : {Parity::Even, Parity::Odd}) {
    Field result = y.parity(parity);
    wilson.dslash().apply(result, x.parity(opposite(parity)), Dagger::No, {1});
  }
  wilson.leave(original, y);
  Product out{HostSpinor(lattice_->dims()), wilson.dslash().architecture()};
  export_spinor(out.vector, original);
  return out;
}

std::string accuracy_heading() {
  return fmt::format("{:<16} {:<26} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "lattice", "form", "smallest", "10 %",
                     "median", "90 %", "largest");
}

std::string text(const AccuracyRow& row) {
  const std::string lattice = fmt::format("{} {} {} {}", row.dims[0], row.dims[1], row.dims[2], row.dims[3]);
  std::string line = fmt::format("{:<16} {:<26}", lattice, to_string(row.form));
  for (const auto& [name, deviation] : columns(row.deviations)) line += fmt::format(" {:>10.2e}", deviation);
  return line + "\n";
}

nlohmann::ordered_json json(const AccuracyRow& row) {
  nlohmann::ordered_json out;
  out["precision"] = to_string(row.form.precision);
  out["reconstruct"] = int(row.form.reconstruct);
  out["temporal_gauge"] = row.form.temporal_gauge;
  out["dims"] = row.dims;
  out["backend"] = row.backend;
  out["isa"] = row.isa;
  out["threads"] = row.threads;
  out["count"] = row.deviations.count();
  for (const auto& [name, deviation] : columns(row.deviations)) out[name] = deviation;
  out["curve"] = nlohmann::ordered_json::array();
  for (const auto& point : row.deviations.curve(points_per_decade)) {
    out["curve"].push_back({point.epsilon, point.fraction});
  }
  return out;
}

}  // namespace quadrille::bench
