// What the task ri_mp2_study measures, against the definitions of integrals and energy; the systems that it makes up.
#include "modules/ri_mp2/tasks/study.h"

#include "core/error.h"
#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/tasks/generated_system.h"
#include "tests/modules/ri_mp2/systems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace quadrille::ri_mp2 {
namespace {

using namespace quadrille::testing;

/// All integrals of a run, gathered from its batches; those that are not made stand for (jb|ia).
ElementErrors errors_of(const std::vector<double>& found, const std::vector<double>& exact) {
  ElementErrors out;
  for (std::size_t k = 0; k < found.size(); ++k) {
    out.largest = std::max(out.largest, std::abs(found[k] - exact[k]));
    out.rms += (found[k] - exact[k]) * (found[k] - exact[k]);
  }
  out.rms = std::sqrt(out.rms / double(found.size()));
  return out;
}

/// Differences from double precision and from the definition differ by what double itself does.
void expect_same(const ElementErrors& found, const ElementErrors& expected, const std::string& what) {
  constexpr double own = 1e-13;
  EXPECT_NEAR(found.largest, expected.largest, 1e-3 * expected.largest + own) << what;
  EXPECT_NEAR(found.rms, expected.rms, 1e-3 * expected.rms + own) << what;
}

TEST(RiMp2Study, ErrorsAreThoseOfTheDefinition) {
  const System system = random_system(5, 7, 30);
  StudyOptions study;
  study.deltas = {1, 0.1, 0.02};
  study.target_errors = {0.1};
  study.repeats = 1;
  study.memory = 4 * 49 * 8;  // two orbitals of a batch: batches on the diagonal, beside it, and short ones
  const std::vector<StudyRow> rows = study_system(system, study);
  ASSERT_EQ(rows.size(), 6u);
  const std::vector<double> exact = integrals_of(system);
  const double energy = energy_of(system, exact);
  Energy report;
  const std::vector<double> b = make_b(system, {}, report), root = inverse_square_root(system.p_q, 30);
  EXPECT_NEAR(rows[0].energy.correlation, energy, 1e-11 * std::abs(energy));
  for (std::size_t k = 1; k < rows.size(); ++k) {
    const StudyRow& row = rows[k];
    const std::string what = to_string(row);
    EXPECT_EQ(row.precision, k == 1 ? mgemm::ProductPrecision::single : mgemm::ProductPrecision::mgemm);
    Options options;
    options.products.precision = row.precision;
    options.memory = study.memory;
    options.products.always_split = true;
    if (k == 5) {
      options.products.cutoff = mgemm::Cutoff::for_error(0.1, mgemm::Assurance::measured);
      EXPECT_GT(row.delta, 0);
      EXPECT_GT(row.energy.step4.energy_error, 0);
      EXPECT_EQ(row.b.largest, 0) << "step 3 is done in double";
    } else if (k > 1) {
      options.step3 = options.products.cutoff = mgemm::Cutoff::at(study.deltas[k - 2]);
    }
    const std::vector<double> made = integrals_made(system, options);
    expect_same(row.integrals, errors_of(made, exact), what + ", integrals");
    EXPECT_GT(row.integrals.largest, 1e-12) << what;
    expect_same(row.b, errors_of(make_b(system, options, report), b), what + ", B");
    if (k < 5) {
      EXPECT_GT(row.b.largest, 0) << what;
    }
    EXPECT_NEAR(row.energy_error, energy_of(system, made) - energy, 1e-11 * std::abs(energy)) << what;
    EXPECT_EQ(row.energy.batch, 2);
    if (k == 1) continue;
    const auto large = [&](const std::vector<double>& numbers) {
      std::size_t count = 0;
      for (const double x : numbers) count += std::abs(x) > row.delta ? 1 : 0;
      return double(count) / double(numbers.size());
    };
    if (k < 5) {
      EXPECT_EQ(row.large_ia_p, large(system.ia_p)) << what;
      EXPECT_EQ(row.large_root, large(root)) << what;
    }
    EXPECT_EQ(row.large_b, large(b)) << what;
  }
  for (const StudyRow& row : rows) {
    for (const double seconds : {row.metric_seconds, row.step3_seconds, row.step4_seconds, row.energy_seconds}) {
      EXPECT_GT(seconds, 0);
      EXPECT_LT(seconds, row.seconds);
    }
  }
  EXPECT_LT(rows[4].integrals.rms, rows[2].integrals.rms) << "a smaller delta is more exact";
}

TEST(RiMp2Study, ErrorsOfElementsCanBeLeftOut) {
  StudyOptions study;
  study.deltas = {0.1};
  study.element_errors = false;
  study.repeats = 2;
  int told = 0;
  study.progress = [&](const std::string&, double fraction) {
    EXPECT_NEAR(fraction, told / 9.0, 1e-12);
    ++told;
  };
  const std::vector<StudyRow> rows = study_system(random_system(2, 5, 9), study);
  EXPECT_EQ(told, 9);
  EXPECT_EQ(rows[1].integrals.largest, 0);
  EXPECT_EQ(rows[1].b.largest, 0);
  EXPECT_NE(rows[1].energy_error, 0);
}

TEST(GeneratedSystem, LooksAsItsModelSays) {
  constexpr std::int64_t occupied = 12, virtuals = 40, auxiliary = 150;
  const std::uint64_t seed = next_seed();
  const System system = generated_system(occupied, virtuals, auxiliary, seed);
  Energy report;
  const std::vector<double> b = make_b(system, {}, report);
  double squares = 0, logs = 0, log_squares = 0, first = 0, last = 0;
  for (std::size_t k = 0; k < b.size(); ++k) {
    const double log_b = std::log(std::abs(b[k]));
    squares += b[k] * b[k];
    logs += log_b;
    log_squares += log_b * log_b;
    const std::int64_t q = std::int64_t(k) % auxiliary;
    if (q < 15) first += log_b;
    if (q >= auxiliary - 15) last += log_b;
  }
  const double count = double(b.size()), mean = logs / count;
  EXPECT_NEAR(std::sqrt(squares / count) * auxiliary, 1.7, 0.4);  // 480 pairs: their norms vary by 0.4
  EXPECT_NEAR(std::sqrt(log_squares / count - mean * mean), 1.1, 0.1);
  EXPECT_NEAR((first - last) / (480.0 * 15), 2 * 135.0 / 150, 0.1) << "decay from the first tenth to the last";
  for (std::int64_t i = 0; i < occupied; ++i) {
    EXPECT_EQ(system.eps_occupied[std::size_t(i)] < -11, i < 3) << "a quarter are core orbitals";
    EXPECT_LT(system.eps_occupied[std::size_t(i)], -0.42);
  }
  for (const double e : system.eps_virtual) EXPECT_TRUE(e >= 0.18 && e <= 3.2);
  for (std::int64_t p = 0; p < auxiliary; ++p) {
    const double diagonal = system.p_q[std::size_t(p * auxiliary + p)];
    EXPECT_TRUE(diagonal >= 0.2 * (1 - 1e-12) && diagonal <= 60 * (1 + 1e-12)) << diagonal;
  }
  EXPECT_EQ(system.p_q, generated_system(occupied, virtuals, auxiliary, seed).p_q);
  EXPECT_NE(system.p_q, generated_system(occupied, virtuals, auxiliary, seed + 1).p_q);
}

TEST(GeneratedSystem, HasTheEnergyOfItsDefinition) {
  for (const auto& [o, v, n] : {std::array{1, 1, 1}, std::array{3, 5, 12}, std::array{5, 9, 40}}) {
    const System system = generated_system(o, v, n, next_seed());
    const double expected = energy_of(system, integrals_of(system));
    EXPECT_NEAR(correlation_energy(system, {}).correlation, expected, 1e-8 * std::abs(expected));
    EXPECT_LT(expected, 0);
  }
  EXPECT_THROW((void)generated_system(0, 3, 4, 1), Error);
}

}  // namespace
}  // namespace quadrille::ri_mp2
