// The Hermitian eigenproblem A x = lambda B x, which pairs of it are wanted, and what is found: the types that every
// solver of it shares, on a CPU or a GPU. T is double (symmetric) or std::complex<double> (Hermitian).
#pragma once

#include "core/api.h"
#include "modules/shared/dense/dense_view.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

namespace quadrille::eigen {

template <class T>
constexpr bool is_complex = !std::is_same_v<T, double>;

/// The half of a Hermitian matrix that is read, diagonal included; the other half may hold anything.
enum class Triangle { lower, upper };

/// Eigenpairs from the lowest eigenvalue, which is number 0: [first, first + count).
struct IndexRange {
  std::int64_t first = 0, count = 0;
};

/// Which eigenpairs are wanted.
class QUADRILLE_API Fraction {
 public:
  enum class Kind { all, none, range, interval, chosen };
  /// What says which of all eigenvalues are wanted.
  using Choice = std::function<IndexRange(const std::vector<double>&)>;

  static Fraction all() { return {}; }
  /// All eigenvalues, no eigenvectors.
  static Fraction none();
  /// Those with numbers `first` to `last`, counted from 1, the lowest. Errors: ErrorCode::invalid_input unless
  /// 1 <= first <= last.
  static Fraction range(std::int64_t first, std::int64_t last);
  /// The `count` lowest ones.
  static Fraction lowest(std::int64_t count);
  /// Those with low <= lambda <= high. Errors: ErrorCode::invalid_input unless low <= high.
  static Fraction interval(double low, double high);
  /// Those that `choice` names when it is given all eigenvalues, in rising order: at least one.
  static Fraction chosen(Choice choice);

  Kind kind() const { return kind_; }
  /// Throws ErrorCode::invalid_input if n eigenvalues do not have the range.
  void check(std::int64_t n) const;
  /// Pairs that room is needed for, at most.
  std::int64_t most(std::int64_t n) const;
  /// Where the wanted ones are among all eigenvalues, in rising order. Errors: ErrorCode::invalid_input for an interval
  /// without an eigenvalue, naming those nearest to it.
  IndexRange among(const std::vector<double>& eigenvalues) const;

 private:
  Kind kind_ = Kind::all;
  std::int64_t first_ = 0, last_ = 0;
  double low_ = 0, high_ = 0;
  Choice choice_;
};

/// A step of a solution. Its name is one of those in `phase`.
struct Phase {
  std::string name;
  double seconds = 0;
  double flops = 0;  ///< real operations by the usual count; 0: there is none
};
namespace phase {
constexpr const char* cholesky = "cholesky";                      ///< B = L L^H: n^3 / 3
constexpr const char* standard_form = "standard_form";            ///< L^-1 A L^-H: n^3
constexpr const char* tridiagonalization = "tridiagonalization";  ///< Q^H A Q = T: 4 n^3 / 3
constexpr const char* band = "band";                              ///< of the former on a GPU: Q1^H A Q1 is a band
constexpr const char* bulge_chasing = "bulge_chasing";            ///< ... and Q2^H Q1^H A Q1 Q2 = T
constexpr const char* tridiagonal = "tridiagonal";                ///< the pairs of T; all vectors: at most 4 n^3 / 3
/// With ScaLAPACK, by QR where divide and conquer has gone wrong: 6 n^3.
constexpr const char* tridiagonal_again = "tridiagonal_again";
constexpr const char* back_to_band = "back_to_band";          ///< on a GPU: Q2 times k vectors of T: 2 n^2 k
constexpr const char* back_to_standard = "back_to_standard";  ///< Q times k vectors of T: 2 n^2 k
constexpr const char* back_to_general = "back_to_general";    ///< L^-H times k vectors: n^2 k
/// Of ELPA: tridiagonalization, tridiagonal and back_to_standard in one.
constexpr const char* standard_problem = "standard_problem";
constexpr const char* refinement = "refinement";
constexpr const char* normalization = "normalization";  ///< the sign of vectors
}  // namespace phase

/// Called with the name of a phase before it begins, and the share of the work done by then. What it throws ends the
/// solution.
using Progress = std::function<void(const std::string& phase, double fraction)>;

/// How far the wanted pairs are from solving a problem, with R = A X - B X Lambda summed in twice the precision.
struct Defects {
  double residual = 0;       ///< |R| / (|A| |X| n), in 1-norms
  double orthogonality = 0;  ///< |X^H B X - 1| / n, in 1-norms
  /// The largest |r| / ((|A| + |lambda| |B|) |x|) of a pair, |r| in the norm of B^-1, the others 1-norms. An eigenvalue
  /// is within |r| in this norm of lambda.
  double defect = 0;
};

/// A step of refinement.
struct Refinement {
  Defects before, after;
  bool kept = false;  ///< false: neither it nor a later one made pairs better, and it was undone
};

/// The pairs that were found.
template <class T>
struct Pairs {
  std::int64_t n = 0;
  IndexRange range;              ///< among all eigenvalues
  std::vector<double> values;    ///< in rising order
  std::vector<double> spectrum;  ///< all eigenvalues, in rising order, not refined
  std::vector<T> vectors;        ///< n x count by columns; empty for Fraction::none()
  std::vector<Phase> phases;     ///< in the order in which they ran
  std::string tridiagonal_form;  ///< what solved the tridiagonal problem, in words
  std::vector<Refinement> refinements;
};

}  // namespace quadrille::eigen
