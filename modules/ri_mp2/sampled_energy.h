// How far the rounding errors of step 4 move the energy, as some rows of the integrals show.
#pragma once

#include "modules/ri_mp2/pair_sums.h"
#include "modules/ri_mp2/ri_mp2.h"

#include <cstdint>
#include <vector>

namespace quadrille::ri_mp2 {

/// A row of the integrals that stands for others.
struct SampledRow {
  std::int64_t pair;
  double weight;  ///< of its part in the sum over all rows
};

/// All rows where there are at most `most`; else `most` draws with probabilities that favour large |B_r|^2 / gap, half
/// of the probability being even. `squares`: |B_r|^2.
std::vector<SampledRow> draw_rows(const System& system, const std::vector<double>& squares, std::int64_t most);

/// These rows of a matrix of n columns, [pairs][n]: [row][n].
std::vector<double> sampled_rows(const std::vector<double>& matrix, std::int64_t n,
                                 const std::vector<SampledRow>& rows);

/// What the energy is not expected to be wrong by, in Hartree: see SampledEnergyError::errors. `biased`: errors are
/// known not to have the mean 0 (FormTraits::truncates), so that it counts even where the sample does not show it.
double expected_error(const std::vector<SampledRow>& rows, const std::vector<MovedEnergy>& moved, bool biased);

/// What a sample shows of the errors of step 4.
struct SampledErrors {
  double energy = 0;    ///< what the energy is not expected to be wrong by, in Hartree
  double integral = 0;  ///< the largest of an integral of the sample
};

SampledErrors sampled_errors(const std::vector<SampledRow>& rows, const std::vector<MovedEnergy>& moved, bool biased);

/// The largest error of an integral with steps 3 and 4 in single precision by the CPU, of any two of the 128 rows whose
/// |B_r|^2, `squares`, is largest: among them the largest of all is expected. `root`: (P|Q)^{-1/2}. Infinite, or no
/// number, where single precision overflows.
double integral_error_of_single(const System& system, const std::vector<double>& root,
                                const std::vector<double>& squares);

/// With errors d of the integrals x, the energy moves by dE = sum_{r s} c_rs d_rs + O(d^2), r = ia, s = jb, c = (4 x -
/// 2 y) / D. For a sample of rows r, x, y and c are computed in double, and d by the split product itself, so that dE_r
/// = sum_s c_rs d_rs contains every source of error in its true size. Where errors have mean 0 and the rows' own are
/// independent, dE^2 is expected to be at most 4 sum_r dE_r^2: the conversion of B_r to single acts on row r and, by
/// symmetry, as much on column r, and each other error stands in x_rs and x_sr. Rows are drawn with probabilities that
/// favour large |B_r|^2 / gap, which makes the sum over all rows an average over those drawn.
///
/// Where step 3 was a split product, B is wrong too. Then x is made from (ia|P) and the root in double, as the product
/// of (ia|P)_s with t_r = (P|Q)^{-1/2} B_r, B_r exact, so that d has the errors of both steps; c is made from the B
/// that there is, which changes the second order only. The small elements of the root are rounded once for all rows:
/// errors of different rows are not independent, and their mean counts even where the sample does not show it.
class SampledEnergyError {
 public:
  static constexpr std::int64_t rows = 128;

  /// B and the system must stay; `squares`: |B_ia|^2; `root`: (P|Q)^{-1/2} where B is of a split product, null where it
  /// is exact to double.
  SampledEnergyError(const System& system, const std::vector<double>& b, const std::vector<double>& squares,
                     const std::vector<double>* root = nullptr);

  /// That of the energy in errors(), of step 3 alone: with step 4 in double. 0 for an exact B.
  double error_of_step3() const { return error_of_step3_; }

  /// Of the energy: six standard deviations; the mean of the errors where the sample shows that it is not 0, and four
  /// standard errors of it; and the second order. A mean that is small beside the errors of single rows (below a third
  /// of them) is not seen, though over very many rows it could count.
  SampledErrors errors(double delta, std::int64_t depth) const;

 private:
  /// Products of the sample's rows with all rows of `with`: [row][jb].
  std::vector<double> products(const std::vector<double>& sample, const std::vector<double>& with) const;
  void make_derivatives();
  /// Replaces x, which the given B made, by what an exact B makes.
  void count_step3(const std::vector<double>& root);
  /// What errors of the integrals with rows [first, first + some) of B do, added; `made`: [row][some].
  void add_errors(const double* made, std::int64_t first, std::int64_t some, std::vector<MovedEnergy>& moved) const;
  /// (jb|ia) with the virtual orbitals exchanged, for all jb.
  void exchange_row(std::int64_t pair, double* out) const;

  const System& system_;
  const std::vector<double>& b_;
  std::vector<SampledRow> rows_;
  std::vector<double> sample_;               ///< their rows of B
  std::vector<double> exact_, derivatives_;  ///< x and c, [row][jb]
  bool has_step3_errors_;                    ///< B is wrong too
  double error_of_step3_ = 0;
};

}  // namespace quadrille::ri_mp2
