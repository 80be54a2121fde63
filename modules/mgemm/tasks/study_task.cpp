#include "modules/mgemm/tasks/study_task.h"

#include "core/backend/backend.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "modules/mgemm/tasks/product_study.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/study_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace quadrille::mgemm {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// One pair of matrices; `salt` is the middle of the salted numbers.
struct Case {
  std::int64_t n;
  bool salted;
  double salt, fraction;
};

std::vector<Case> cases_of(const TaskContext& context) {
  std::vector<Case> out;
  for (const std::int64_t n : context.integers("sizes")) {
    out.push_back({n, false, 0, 0});
    for (const double salt : context.reals("salts")) {
      for (const double fraction : context.reals("fractions")) out.push_back({n, true, salt, fraction});
    }
  }
  return out;
}

/// `memory` is that of cleaver in MiB.
Json row_json(const Case& one, const ProductMeasurement& m, double seconds_of_dgemm, std::int64_t memory) {
  const bool mixed = m.product == "mgemm", reference = m.product == "dgemm";
  const bool bounded = mixed && std::isfinite(m.report.bound);  // what is not analysed has no bound
  const bool split = mixed && m.report.form == MgemmForm::split;
  const double n = double(one.n);
  return {{"n", one.n},
          {"salt", known(one.salted, one.salt)},
          {"fraction", one.fraction},
          {"product", m.product},
          {"memory", m.product == "cleaver" && memory > 0 ? Json(memory) : Json(nullptr)},
          {"panel_bytes", m.product == "cleaver" ? Json(m.panel_bytes) : Json(nullptr)},
          {"form", mixed ? Json(to_string(m.report.form)) : Json(nullptr)},
          {"small_form", split ? Json(to_string(m.report.small_form)) : Json(nullptr)},
          {"delta", known(split, m.report.delta)},
          {"large_a", known(mixed && m.report.analysed, m.report.large_a)},
          {"large_b", known(mixed && m.report.analysed, m.report.large_b)},
          {"seconds", m.seconds},
          {"gflops", 2 * n * n * n / m.seconds * 1e-9},
          {"speedup", seconds_of_dgemm / m.seconds},
          {"expected_speedup", known(split, m.report.expected_speedup)},
          {"analysis_seconds", known(mixed && m.report.analysed, m.analysis_seconds)},
          {"max_error", known(!reference, m.max_error)},
          {"rms_error", known(!reference, m.rms_error)},
          {"bound", known(bounded, m.report.bound)},
          {"probable_bound", known(bounded, m.report.probable_bound)},
          {"within_bound", bounded ? Json(m.max_error <= m.report.bound) : Json(nullptr)},
          {"within_probable_bound", bounded ? Json(m.max_error <= m.report.probable_bound) : Json(nullptr)}};
}

std::string name_of(const Case& one) {
  if (!one.salted) return fmt::format("n = {}, no large elements", one.n);
  return fmt::format("n = {}, a fraction {:g} of elements of size {:g}", one.n, one.fraction, one.salt);
}

constexpr quadrille_parameter size = integer("size", nullptr, nullptr, within(1, 1 << 16));
constexpr quadrille_parameter fraction = real("fraction", nullptr, nullptr, above_and_up_to(0, 1));
constexpr quadrille_parameter salt = real("salt", nullptr, nullptr, above(0));

}  // namespace

const quadrille_parameter study_parameters[study_parameter_count] = {
    list("sizes", "n of the n x n matrices; 44 n^2 bytes and what mgemm takes must fit into the host's memory",
         "[1000, 2000, 4096]", size),
    list("fractions", "fractions of large elements; the others are uniform in [-1, 1]", "[1.0e-2, 1.0e-3, 1.0e-4]",
         fraction),
    list("salts", "sizes of large elements: centres of the intervals in which they are uniform", "[100, 10000]", salt),
    real("salt_spread", "half the width of those intervals", "10", at_least(0)),
    real("delta", "for mgemm: elements above it are large", "1", at_least(0)),
    boolean("always_split", "split even where mgemm expects no gain", "true"),
    integer("repeats", "how often each product is timed; the median counts", "3", within(1, 1000)),
    memory("memory limit for cleaver's panels (on a GPU, of its own memory); 0: no limit", "0", 0),
    integer("seed", "seed of the matrices", "1", at_least(0)),
    csv("matrix_product_study.csv")};

void check_study(const TaskContext& context) {
  const double spread = context.real("salt_spread");
  for (const double middle : context.reals("salts")) {
    if (middle > spread) continue;
    TaskContext::fail(
        QUADRILLE_INVALID_INPUT,
        fmt::format("must be below all of `salts`, but it is {:g} and one of them is {:g}", spread, middle),
        "salt_spread");
  }
}

void run_study(const TaskContext& context) {
  check_study(context);
  ProductStudyOptions options;
  options.cutoff = Cutoff::at(context.real("delta"));
  options.always_split = context.boolean("always_split");
  options.repeats = int(context.integer("repeats"));
  options.backend = &find_backend(context.backend());
  const std::int64_t memory = context.integer("memory");
  options.memory_cap = memory << 20;
  const double spread = context.real("salt_spread");
  const std::vector<Case> cases = cases_of(context);
  double work = 0, done = 0;
  for (const Case& one : cases) work += std::pow(double(one.n), 3);
  Json rows = Json::array();
  for (const Case& one : cases) {
    context.progress_or_stop(name_of(one), done / work);
    const Salt salt{one.fraction, one.salt - spread, one.salt + spread};
    const std::vector<ProductMeasurement> found =
        measure_products({one.n, salt, std::uint64_t(context.integer("seed"))}, options, one.salted);
    for (const ProductMeasurement& m : found) rows.push_back(row_json(one, m, found.front().seconds, memory));
    done += std::pow(double(one.n), 3);
    const ProductMeasurement& last = found.back();
    log().info("{}: {}: {} {:.3g} s, {:.2f} times as fast as dgemm, largest error {:.2g}", context.task_name(),
               name_of(one), last.product, last.seconds, found.front().seconds / last.seconds, last.max_error);
  }
  report_study(context, "matrix_product_studies",
               {{"backend", context.backend()},
                {"threads", context.threads()},
                {"salt_spread", spread},
                {"repeats", options.repeats},
                {"memory", memory}},
               rows);
}

}  // namespace quadrille::mgemm
