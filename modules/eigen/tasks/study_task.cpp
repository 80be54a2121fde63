#include "modules/eigen/tasks/study_task.h"

#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/atomic_file.h"
#include "core/system/csv.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/solve.h"
#include "modules/eigen/tasks/generated.h"
#include "modules/eigen/tasks/lapack_drivers.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/study_report.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace quadrille::eigen {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

/// A CPU has `tridiagonalization` where a GPU has `band`, `bulge_chasing` and `back_to_band`.
constexpr const char* phases[] = {phase::cholesky,     phase::standard_form,    phase::tridiagonalization,
                                  phase::band,         phase::bulge_chasing,    phase::tridiagonal,
                                  phase::back_to_band, phase::back_to_standard, phase::back_to_general,
                                  phase::normalization};

Fraction fraction_of(std::int64_t n, std::int64_t count) {
  return count == 0 ? Fraction::none() : count == n ? Fraction::all() : Fraction::lowest(count);
}

/// Times of one n and number of vectors.
template <class T>
class Measurement {
 public:
  Measurement(std::int64_t n, std::int64_t count, const std::string& kind, bool on_gpu, bool compared)
      : n_(n), count_(count), on_gpu_(on_gpu) {
    const Fraction fraction = fraction_of(n, count);
    const double square = double(n) * double(n) * sizeof(T);
    // A, B, their copies and factors; the driver takes as much again for vectors and work space.
    const double driver = square * 4 + solve_bytes<T>(n, fraction);
    require_memory(on_gpu ? host_bytes<T>(n, fraction, true, true) + (compared ? driver : 0) : square * 2 + driver,
                   fmt::format("eigen_study of {} rows", n));
    if (on_gpu) with_cuda([&](auto) { require_device<T>(n, fraction, true); });
    a_ = generated_matrix<T>(kind, n, 1);
    b_ = generated_matrix<T>("overlap", n, 1);
  }

  void ours() {
    pairs_ = {};
    on_gpu_ ? with_cuda([&](auto) { on_gpu(); }) : on_cpu();
    for (const Phase& one : pairs_.phases) phase_seconds_[one.name].push_back(one.seconds);
  }
  void theirs() {
    std::vector<T> a = a_, b = b_;
    driver_seconds_.push_back(seconds_of([&] { driver_values_ = solve_by_driver(n_, count_, a, b); }));
  }

  Json row() {
    Json out = {{"n", n_},
                {"vectors", count_},
                {"seconds", median(seconds_)},
                {"driver", driver_name<T>(n_, count_)},
                {"driver_seconds", known(!driver_seconds_.empty(), median(driver_seconds_))},
                {"speedup", known(!driver_seconds_.empty(), median(driver_seconds_) / median(seconds_))}};
    for (const char* name : phases) {
      const auto found = phase_seconds_.find(name);
      out[name] = found == phase_seconds_.end() ? Json(nullptr) : Json(median(found->second));
    }
    const bool with_vectors = count_ > 0;
    const Accuracy accuracy = !with_vectors ? Accuracy{}
                              : on_gpu_     ? with_cuda<Accuracy>([&](auto) { return check_on_gpu(a_, &b_, pairs_); })
                                            : check_pairs(n_, a_.data(), b_.data(), pairs_);
    out["residual"] = known(with_vectors, accuracy.residual);
    out["orthogonality"] = known(with_vectors, accuracy.orthogonality);
    double difference = 0;
    for (std::size_t k = 0; k < std::min(driver_values_.size(), pairs_.values.size()); ++k) {
      difference = std::max(difference, std::abs(driver_values_[k] - pairs_.values[k]));
    }
    out["values_difference"] = known(!driver_seconds_.empty(), difference);
    return out;
  }

 private:
  void on_cpu() {
    std::vector<T> a = a_, b = b_;
    seconds_.push_back(seconds_of([&] {
      const Factor<T> factor(n_, std::move(b), Triangle::lower);
      pairs_ = solve(Problem<T>{n_, a.data(), n_, Triangle::lower, &factor, fraction_of(n_, count_), {}});
      pairs_.phases.push_back(factor.made());
    }));
  }
  void on_gpu() {
    seconds_.push_back(seconds_of([&] {
      const DeviceFactor<T> factor(n_, b_.data(), n_, Triangle::lower);
      pairs_ =
          solve_on_device(DeviceProblem<T>{n_, a_.data(), n_, Triangle::lower, &factor, fraction_of(n_, count_), {}});
      pairs_.phases.push_back(factor.made());
    }));
  }
  static Json known(bool is, double value) { return is ? Json(value) : Json(nullptr); }

  std::int64_t n_, count_;
  bool on_gpu_;
  std::vector<T> a_, b_;
  Pairs<T> pairs_;
  std::vector<double> seconds_, driver_seconds_, driver_values_;
  std::map<std::string, std::vector<double>> phase_seconds_;
};

template <class T>
Json study(const TaskContext& context) {
  Json rows = Json::array();
  const std::vector<std::int64_t> sizes = context.integers("sizes");
  const std::vector<double> shares = context.reals("shares");
  for (const std::int64_t n : sizes) {
    for (const double share : shares) {
      const std::int64_t count = std::llround(share * double(n));
      context.progress_or_stop(fmt::format("n = {}, {} vectors", n, count),
                               double(rows.size()) / double(sizes.size() * shares.size()));
      const bool compared = context.boolean("compare");
      Measurement<T> measurement(n, count, context.text("matrix"), context.backend() == "cuda", compared);
      take_turns(int(context.integer("repeats")), compared ? 2 : 1,
                 [&](std::size_t which) { which == 0 ? measurement.ours() : measurement.theirs(); });
      rows.push_back(measurement.row());
      log().info("{}: n = {}, {} vectors: {:.3g} s{}", context.task_name(), n, count,
                 rows.back()["seconds"].template get<double>(),
                 compared ? fmt::format(", {} {:.3g} s", rows.back()["driver"].template get<std::string>(),
                                        rows.back()["driver_seconds"].template get<double>())
                          : "");
    }
  }
  return rows;
}

constexpr quadrille_parameter study_size = integer("size", nullptr, nullptr, within(1, 100000));
constexpr quadrille_parameter share = real("share", nullptr, nullptr, within(0, 1));

}  // namespace

const quadrille_parameter study_parameters[study_parameter_count] = {
    list("sizes", "numbers of rows", "[500, 1000, 2000]", study_size),
    list("shares",
         "fractions of the spectrum whose eigenvectors are computed, from the lowest eigenvalue up; 0: values only",
         "[1, 0.2, 0]", share),
    choice("matrix", "A, as `generate` of the task eigen; B is overlap", "random", generated_kinds),
    boolean("complex", "whether A and B are complex", "false"),
    boolean("compare", "measure LAPACK's drivers on the CPU, too: sygvd, sygvx, and sygv_2stage without vectors",
            "true"),
    integer("repeats", "how often each is timed; the median counts", "3", within(1, 1000)),
    csv("eigen_study.csv")};

void run_study(const TaskContext& context) {
  const bool complex = context.boolean("complex");
  const Json rows = complex ? study<std::complex<double>>(context) : study<double>(context);
  report_study(context, "eigen_studies",
               {{"backend", context.backend()},
                {"complex", complex},
                {"matrix", context.text("matrix")},
                {"threads", context.threads()},
                {"repeats", context.integer("repeats")}},
               rows);
}

}  // namespace quadrille::eigen
