#include "modules/ri_mp2/sampled_energy.h"

#include "core/random/random.h"
#include "modules/mgemm/product/blas.h"
#include "modules/mgemm/product/split_product.h"
#include "modules/ri_mp2/energy.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace quadrille::ri_mp2 {
namespace {

/// Rows of B that are split at a time, so that a trial takes little memory.
constexpr std::int64_t block = 2048;
constexpr double deviations = 6;
/// Standard errors of its estimate that a mean must be away from 0 to count, and that are added to one that counts.
constexpr double significant = 4;

/// These rows of a matrix of n columns.
std::vector<double> rows_of(const std::vector<double>& matrix, std::int64_t n, const std::vector<std::int64_t>& pairs) {
  std::vector<double> taken;
  taken.reserve(pairs.size() * std::size_t(n));
  for (const std::int64_t pair : pairs) {
    const auto begin = matrix.begin() + pair * n;
    taken.insert(taken.end(), begin, begin + n);
  }
  return taken;
}

/// Those with the largest squares, at most `most`.
std::vector<std::int64_t> largest_pairs(const std::vector<double>& squares, std::int64_t most) {
  std::vector<std::int64_t> pairs(squares.size());
  std::iota(pairs.begin(), pairs.end(), std::int64_t(0));
  const auto end = pairs.begin() + std::min(most, std::int64_t(pairs.size()));
  std::partial_sort(pairs.begin(), end, pairs.end(), [&](std::int64_t x, std::int64_t y) {
    return std::pair(-squares[std::size_t(x)], x) < std::pair(-squares[std::size_t(y)], y);
  });
  pairs.erase(end, pairs.end());
  return pairs;
}

/// The integrals of any two of `count` rows of (ia|P), both steps in the precision of T: [row][row].
template <class T>
std::vector<T> integrals_of(const std::vector<T>& ia_p, const std::vector<T>& root, std::int64_t count) {
  const std::int64_t n = std::int64_t(ia_p.size()) / count;
  std::vector<T> b(ia_p.size()), integrals(static_cast<std::size_t>(count * count));
  const DenseView<T> b_rows{b.data(), n, count, n, false};
  // By columns: the root, which is symmetric, times each row.
  mgemm::shared_product(T(1), DenseView<const T>{root.data(), n, n, n, false},
                        DenseView<const T>{ia_p.data(), n, count, n, false}, T(0), b_rows);
  mgemm::shared_product(T(1), b_rows.constant().transposed(), b_rows.constant(), T(0),
                        {integrals.data(), count, count, count, false});
  return integrals;
}

}  // namespace

std::vector<SampledRow> draw_rows(const System& system, const std::vector<double>& squares, std::int64_t most) {
  const std::int64_t pairs = system.pairs();
  std::vector<SampledRow> drawn;
  if (pairs <= most) {
    for (std::int64_t r = 0; r < pairs; ++r) drawn.push_back({r, 1});
    return drawn;
  }
  // Half of the probability is even, so that no row counts for much more than its share.
  std::vector<double> sums(squares.size());
  double total = 0;
  for (std::int64_t r = 0; r < pairs; ++r) sums[std::size_t(r)] = total += squares[std::size_t(r)] / gap(system, r);
  for (std::int64_t r = 0; r < pairs; ++r) {
    sums[std::size_t(r)] = (total > 0 ? sums[std::size_t(r)] / total : 0) + double(r + 1) / double(pairs);
  }
  SiteRandom random(0, RandomPurpose::Sample, 0);
  for (std::int64_t draw = 0; draw < most; ++draw) {
    const auto found = std::upper_bound(sums.begin(), sums.end(), random.uniform() * sums.back());
    const std::int64_t r = std::min<std::int64_t>(found - sums.begin(), pairs - 1);
    const double share = (sums[std::size_t(r)] - (r > 0 ? sums[std::size_t(r - 1)] : 0)) / sums.back();
    drawn.push_back({r, 1 / (double(most) * share)});
  }
  return drawn;
}

std::vector<double> sampled_rows(const std::vector<double>& matrix, std::int64_t n,
                                 const std::vector<SampledRow>& rows) {
  std::vector<std::int64_t> pairs;
  for (const SampledRow& row : rows) pairs.push_back(row.pair);
  return rows_of(matrix, n, pairs);
}

double expected_error(const std::vector<SampledRow>& rows, const std::vector<MovedEnergy>& moved, bool biased) {
  double mean = 0, squares = 0, spread = 0, second = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const double weight = rows[r].weight, first = moved[r].first;
    mean += weight * first;
    squares += weight * first * first;
    spread += weight * weight * first * first;
    second += weight * moved[r].second;
  }
  // The variance of a mean of `count` numbers count w dE_r; spread is the sum of their squares / count^2. All rows have
  // their exact mean.
  const bool drawn = std::any_of(rows.begin(), rows.end(), [](const SampledRow& row) { return row.weight != 1; });
  const double variance = drawn ? std::max(0.0, spread - mean * mean / double(rows.size())) : 0;
  const double uncertain = significant * std::sqrt(variance);
  const double bias = biased || std::abs(mean) > uncertain ? std::abs(mean) + uncertain : 0;
  return 2 * deviations * std::sqrt(squares) + bias + second;
}

SampledErrors sampled_errors(const std::vector<SampledRow>& rows, const std::vector<MovedEnergy>& moved, bool biased) {
  SampledErrors errors{expected_error(rows, moved, biased), 0};
  for (const MovedEnergy& of_row : moved) errors.integral = std::max(errors.integral, of_row.largest);
  return errors;
}

SampledEnergyError::SampledEnergyError(const System& system, const std::vector<double>& b,
                                       const std::vector<double>& squares, const std::vector<double>* root)
    : system_(system),
      b_(b),
      rows_(draw_rows(system, squares, rows)),
      sample_(sampled_rows(b, system.auxiliary, rows_)),
      exact_(products(sample_, b)),
      has_step3_errors_(root != nullptr) {
  make_derivatives();
  if (has_step3_errors_) count_step3(*root);
}

double integral_error_of_single(const System& system, const std::vector<double>& root,
                                const std::vector<double>& squares) {
  const std::vector<std::int64_t> pairs = largest_pairs(squares, SampledEnergyError::rows);
  const std::int64_t count = std::int64_t(pairs.size());
  const std::vector<double> ia_p = rows_of(system.ia_p, system.auxiliary, pairs);
  const std::vector<double> exact = integrals_of(ia_p, root, count);
  const std::vector<float> single = integrals_of<float>({ia_p.begin(), ia_p.end()}, {root.begin(), root.end()}, count);
  double largest = 0;
  for (std::size_t k = 0; k < exact.size(); ++k) {
    const double error = std::abs(double(single[k]) - exact[k]);
    if (!(error <= largest)) largest = error;
  }
  return largest;
}

std::vector<double> SampledEnergyError::products(const std::vector<double>& sample,
                                                 const std::vector<double>& with) const {
  const std::int64_t pairs = system_.pairs(), n = system_.auxiliary, count = std::int64_t(rows_.size());
  std::vector<double> out(static_cast<std::size_t>(count * pairs));
  // By columns: [jb, r].
  mgemm::shared_product(1.0, DenseView<const double>{with.data(), pairs, n, n, true},
                        DenseView<const double>{sample.data(), n, count, n, false}, 0.0,
                        {out.data(), pairs, count, pairs, false});
  return out;
}

void SampledEnergyError::make_derivatives() {
  const std::int64_t pairs = system_.pairs();
  derivatives_.resize(exact_.size());
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    double* c = derivatives_.data() + std::int64_t(r) * pairs;
    const double* x = exact_.data() + std::int64_t(r) * pairs;
    const std::int64_t pair = rows_[r].pair;
    exchange_row(pair, c);
    for (std::int64_t s = 0; s < pairs; ++s) c[s] = energy_derivative(x[s], c[s], gap(system_, pair) + gap(system_, s));
  }
}

void SampledEnergyError::count_step3(const std::vector<double>& root) {
  const std::int64_t n = system_.auxiliary, count = std::int64_t(rows_.size());
  const DenseView<const double> root_view{root.data(), n, n, n, true};
  const std::vector<double> ia_p = sampled_rows(system_.ia_p, n, rows_);
  std::vector<double> b(ia_p.size()), turned(ia_p.size());
  const DenseView<double> b_view{b.data(), n, count, n, false};
  mgemm::shared_product(1.0, root_view.transposed(), DenseView<const double>{ia_p.data(), n, count, n, false}, 0.0,
                        b_view);
  mgemm::shared_product(1.0, root_view, b_view.constant(), 0.0, {turned.data(), n, count, n, false});
  const std::vector<double> given = std::exchange(exact_, products(turned, system_.ia_p));
  std::vector<MovedEnergy> moved(rows_.size());
  add_errors(given.data(), 0, system_.pairs(), moved);
  error_of_step3_ = expected_error(rows_, moved, true);
}

void SampledEnergyError::exchange_row(std::int64_t pair, double* out) const {
  const std::int64_t n = system_.auxiliary, v = system_.virtuals, i = pair / v, a = pair % v;
  // (ib|ja) for all b and j: rows ib of B with rows ja.
  const DenseView<const double> ib{b_.data() + i * v * n, v, n, n, true};
  const DenseView<const double> ja{b_.data() + a * n, system_.occupied, n, v * n, true};
  mgemm::shared_product(1.0, ib, ja.transposed(), 0.0, {out, v, system_.occupied, v, false});
}

void SampledEnergyError::add_errors(const double* made, std::int64_t first, std::int64_t some,
                                    std::vector<MovedEnergy>& moved) const {
  const std::int64_t pairs = system_.pairs(), count = std::int64_t(rows_.size());
#pragma omp parallel for
  for (std::int64_t r = 0; r < count; ++r) {
    const double gap_r = gap(system_, rows_[std::size_t(r)].pair);
    for (std::int64_t s = 0; s < some; ++s) {
      const std::size_t place = std::size_t(r * pairs + first + s);
      const double d = made[r * some + s] - exact_[place];
      add_error(moved[std::size_t(r)], derivatives_[place], d, gap_r + gap(system_, first + s));
    }
  }
}

SampledErrors SampledEnergyError::errors(double delta, std::int64_t depth) const {
  const std::int64_t pairs = system_.pairs(), n = system_.auxiliary, count = std::int64_t(rows_.size());
  mgemm::SplitFactor sample, others;
  sample.assign({sample_.data(), count, n, n, true}, delta);
  std::vector<double> mixed(static_cast<std::size_t>(count * std::min(block, pairs)));
  std::vector<MovedEnergy> moved(rows_.size());
  for (std::int64_t first = 0; first < pairs; first += block) {
    const std::int64_t some = std::min(block, pairs - first);
    others.assign({b_.data() + first * n, some, n, n, true}, delta);
    mgemm::multiply_split(1.0, others, sample, 0.0, {mixed.data(), some, count, some, false}, depth);
    add_errors(mixed.data(), first, some, moved);
  }
  return sampled_errors(rows_, moved, has_step3_errors_);
}

}  // namespace quadrille::ri_mp2
