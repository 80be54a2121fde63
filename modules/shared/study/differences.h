// Differences of many numbers from those that they should be.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace quadrille {

/// Largest and root mean square difference, summed row by row: the same bits for any number of threads.
class Differences {
 public:
  /// rows x length numbers, one row behind the other; `weight`: how often each of them counts.
  template <class T>
  void add(const T* found, const double* exact, std::int64_t rows, std::int64_t length, double weight = 1) {
    std::vector<double> largest(static_cast<std::size_t>(rows)), squares(static_cast<std::size_t>(rows));
#pragma omp parallel for
    for (std::int64_t row = 0; row < rows; ++row) {
      double most = 0, sum = 0;
      for (std::int64_t at = row * length; at < (row + 1) * length; ++at) {
        const double error = std::abs(double(found[at]) - exact[at]);
        most = worse(most, error);
        sum += error * error;
      }
      largest[std::size_t(row)] = most;
      squares[std::size_t(row)] = sum;
    }
    for (std::size_t row = 0; row < largest.size(); ++row) {
      largest_ = worse(largest_, largest[row]);
      squares_ += weight * squares[row];
    }
    count_ += weight * double(rows) * double(length);
  }

  double largest() const { return largest_; }
  double rms() const { return count_ > 0 ? std::sqrt(squares_ / count_) : 0; }

 private:
  /// Not-a-number is the worst.
  static double worse(double a, double b) { return std::isnan(a) || b <= a ? a : b; }

  double largest_ = 0, squares_ = 0, count_ = 0;
};

}  // namespace quadrille
