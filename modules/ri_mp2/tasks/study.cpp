#include "modules/ri_mp2/tasks/study.h"

#include "modules/mgemm/product/cleaver.h"
#include "modules/ri_mp2/energy.h"
#include "modules/shared/study/differences.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

double fraction_above(const std::vector<double>& numbers, double delta) {
  const auto large = std::count_if(numbers.begin(), numbers.end(), [&](double x) { return std::abs(x) > delta; });
  return double(large) / double(numbers.size());
}

class Study {
 public:
  Study(const System& system, const StudyOptions& options) : system_(system), options_(options) {
    rows_.resize(2);
    rows_[1].precision = mgemm::ProductPrecision::single;
    const auto add = [&](double delta, double target_error) {
      StudyRow& row = rows_.emplace_back();
      row.precision = mgemm::ProductPrecision::mgemm;
      row.delta = delta;
      row.target_error = target_error;
    };
    for (const double delta : options.deltas) add(delta, 0);
    for (const double target : options.target_errors) add(0, target);
  }

  std::vector<StudyRow> run() {
    Energy ignored;
    metric_seconds_ = seconds_of([&] { root_ = inverse_square_root(system_); });
    exact_b_ = make_b(system_, options_of(rows_[0]), ignored);
    for (StudyRow& row : rows_) solve_row(row);
    measure();
    return std::move(rows_);
  }

 private:
  Options options_of(const StudyRow& row) const {
    Options options;
    options.products.precision = row.precision;
    options.step3 = options.products.cutoff =
        row.target_error > 0 ? mgemm::Cutoff::for_error(row.target_error, mgemm::Assurance::measured)
                             : mgemm::Cutoff::at(row.delta);
    options.products.always_split = options_.always_split;
    options.memory = options_.memory;
    options.memory_cap = options_.memory_cap;
    options.scratch = options_.scratch;
    options.backend = options_.backend;
    options.root = &root_;
    return options;
  }

  void log_row(const StudyRow& row) {
    if (!options_.progress) return;
    const double all = double(rows_.size()) * (1 + options_.repeats);
    options_.progress(to_string(row), double(runs_++) / all);
  }

  /// A batch's integrals in double, in exact_integrals_.
  template <class T>
  void make_exact(const Batch<T>& batch) {
    const std::int64_t v = system_.virtuals, n = system_.auxiliary;
    exact_integrals_.resize(std::size_t(batch.count_i * v * batch.count_j * v));
    const std::int64_t rows = batch.count_i * v, columns = batch.count_j * v;
    const mgemm::Gemm<double> gemm{.order = mgemm::Order::rows,
                                   .trans_b = mgemm::Transpose::yes,
                                   .m = rows,
                                   .n = columns,
                                   .k = n,
                                   .a = exact_b_.data() + batch.first_i * v * n,
                                   .lda = n,
                                   .b = exact_b_.data() + batch.first_j * v * n,
                                   .ldb = n,
                                   .c = exact_integrals_.data(),
                                   .ldc = columns};
    (void)mgemm::cleaver(gemm, {0, options_.backend});
  }

  /// The energy and its errors, untimed: this run touches the memory first, too.
  void solve_row(StudyRow& row) {
    log_row(row);
    Options options = options_of(row);
    const bool compared = options_.element_errors && row.precision != mgemm::ProductPrecision::double_;
    Differences integrals;
    const auto compare = [&](const auto& batch) {
      make_exact(batch);
      const std::int64_t v = system_.virtuals;
      // Batches of different orbitals stand for (jb|ia), too.
      integrals.add(batch.integrals, exact_integrals_.data(), batch.count_i * v, batch.count_j * v,
                    batch.first_i == batch.first_j ? 1 : 2);
    };
    if (compared) {
      options.see_batch = compare;
      options.see_single_batch = compare;
    }
    row.energy = correlation_energy(system_, options);
    row.energy_error = row.energy.correlation - rows_[0].energy.correlation;
    if (row.target_error > 0) row.delta = row.energy.step4.delta;
    if (compared) {
      row.integrals = {integrals.largest(), integrals.rms()};
      Energy ignored;
      const std::vector<double> b = make_b(system_, options, ignored);
      Differences differences;
      differences.add(b.data(), exact_b_.data(), system_.pairs(), system_.auxiliary);
      row.b = {differences.largest(), differences.rms()};
    }
    if (row.precision != mgemm::ProductPrecision::mgemm) return;
    if (row.target_error == 0) {
      row.large_ia_p = fraction_above(system_.ia_p, row.delta);
      row.large_root = fraction_above(root_, row.delta);
    }
    row.large_b = fraction_above(exact_b_, row.delta);
  }

  void measure() {
    struct Times {
      std::vector<double> step3, step4, energy, all;
    };
    std::vector<Times> times(rows_.size());
    take_turns(options_.repeats, rows_.size(), [&](std::size_t which) {
      log_row(rows_[which]);
      Energy energy;
      Times& to = times[which];
      to.all.push_back(seconds_of([&] { energy = correlation_energy(system_, options_of(rows_[which])); }));
      to.step3.push_back(energy.step3.seconds);
      to.step4.push_back(energy.step4.seconds);
      to.energy.push_back(energy.energy_seconds);
    });
    for (std::size_t which = 0; which < rows_.size(); ++which) {
      StudyRow& row = rows_[which];
      row.metric_seconds = metric_seconds_;
      row.step3_seconds = median(times[which].step3);
      row.step4_seconds = median(times[which].step4);
      row.energy_seconds = median(times[which].energy);
      row.seconds = metric_seconds_ + median(times[which].all);
    }
  }

  const System& system_;
  const StudyOptions& options_;
  std::vector<StudyRow> rows_;
  std::vector<double> exact_b_, root_, exact_integrals_;
  double metric_seconds_ = 0;
  int runs_ = 0;
};

}  // namespace

std::vector<StudyRow> study_system(const System& system, const StudyOptions& options) {
  return Study(system, options).run();
}

std::string to_string(const StudyRow& row) {
  switch (row.precision) {
    case mgemm::ProductPrecision::double_: return "double";
    case mgemm::ProductPrecision::single: return "single";
    case mgemm::ProductPrecision::mgemm: break;
  }
  return row.target_error > 0 ? fmt::format("mgemm for {:g} Hartree", row.target_error)
                              : fmt::format("mgemm, delta {:g}", row.delta);
}

}  // namespace quadrille::ri_mp2
