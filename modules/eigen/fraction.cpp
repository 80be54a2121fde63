#include "core/error.h"
#include "modules/eigen/problem.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace quadrille::eigen {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

}  // namespace

Fraction Fraction::none() {
  Fraction out;
  out.kind_ = Kind::none;
  return out;
}

Fraction Fraction::range(std::int64_t first, std::int64_t last) {
  if (first < 1 || last < first) {
    refuse(fmt::format("eigenvectors {} to {}: they count from 1, and the last must not be before the first", first,
                       last));
  }
  Fraction out;
  out.kind_ = Kind::range;
  out.first_ = first - 1;
  out.last_ = last - 1;
  return out;
}

Fraction Fraction::lowest(std::int64_t count) {
  if (count < 1) refuse(fmt::format("{} eigenvectors: there must be at least 1; none are given by `none`", count));
  return range(1, count);
}

Fraction Fraction::interval(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high)) {
    refuse(fmt::format("the interval [{:g}, {:g}] is empty: its first number must be the lower one", low, high));
  }
  Fraction out;
  out.kind_ = Kind::interval;
  out.low_ = low;
  out.high_ = high;
  return out;
}

Fraction Fraction::chosen(Choice choice) {
  Fraction out;
  out.kind_ = Kind::chosen;
  out.choice_ = std::move(choice);
  return out;
}

void Fraction::check(std::int64_t n) const {
  if (kind_ != Kind::range || last_ < n) return;
  refuse(fmt::format("eigenvectors {} to {} of a matrix of {} rows: the last is {}", first_ + 1, last_ + 1, n, n));
}

std::int64_t Fraction::most(std::int64_t n) const {
  if (kind_ == Kind::none) return 0;
  return kind_ == Kind::range ? last_ - first_ + 1 : n;
}

IndexRange Fraction::among(const std::vector<double>& eigenvalues) const {
  const auto n = std::int64_t(eigenvalues.size());
  if (kind_ == Kind::range) return {first_, last_ - first_ + 1};
  if (kind_ == Kind::chosen) {
    const IndexRange range = choice_(eigenvalues);
    if (range.first >= 0 && range.count >= 1 && range.first + range.count <= n) return range;
    refuse(fmt::format("{} eigenvalues from number {} were chosen of {}", range.count, range.first + 1, n));
  }
  if (kind_ != Kind::interval) return {0, n};
  const auto low = std::lower_bound(eigenvalues.begin(), eigenvalues.end(), low_);
  const auto high = std::upper_bound(eigenvalues.begin(), eigenvalues.end(), high_);
  if (low != high) return {low - eigenvalues.begin(), high - low};
  std::string nearest;
  if (low != eigenvalues.begin()) nearest += fmt::format("; the nearest below is {:.6g}", low[-1]);
  if (high != eigenvalues.end()) nearest += fmt::format("; the nearest above is {:.6g}", *high);
  refuse(fmt::format("no eigenvalue is in the interval [{:g}, {:g}]{}", low_, high_, nearest));
}

}  // namespace quadrille::eigen
