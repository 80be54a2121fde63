#include "modules/md/dynamics/series.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace quadrille::md {
namespace {

struct Line {
  double slope = 0, middle_time = 0, middle = 0, spread = 0;  ///< spread: sum of (t - middle_time)^2

  double at(double time) const { return middle + slope * (time - middle_time); }
};

double mean(std::span<const double> numbers) {
  double sum = 0;
  for (const double x : numbers) sum += x;
  return numbers.empty() ? 0 : sum / double(numbers.size());
}

Line line_through(std::span<const double> times, std::span<const double> values) {
  Line line{0, mean(times), mean(values), 0};
  double product = 0;
  for (std::size_t n = 0; n < times.size(); ++n) {
    product += (times[n] - line.middle_time) * (values[n] - line.middle);
    line.spread += std::pow(times[n] - line.middle_time, 2);
  }
  if (line.spread > 0) line.slope = product / line.spread;
  return line;
}

double squares_from(const Line& line, std::span<const double> times, std::span<const double> values) {
  double sum = 0;
  for (std::size_t n = 0; n < times.size(); ++n) sum += std::pow(values[n] - line.at(times[n]), 2);
  return sum;
}

}  // namespace

Trend trend_of(std::span<const double> times, std::span<const double> values) {
  const Line line = line_through(times, values);
  Trend out{line.slope, {}, {}};
  if (times.size() < Trend::least_values) return out;
  out.fluctuation = std::sqrt(squares_from(line, times, values) / double(times.size()));
  const std::size_t blocks = std::min<std::size_t>(20, times.size());
  std::vector<double> block_times, block_values;
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::size_t begin = b * times.size() / blocks, end = (b + 1) * times.size() / blocks;
    block_times.push_back(mean(times.subspan(begin, end - begin)));
    block_values.push_back(mean(values.subspan(begin, end - begin)));
  }
  const Line of_blocks = line_through(block_times, block_values);
  if (of_blocks.spread > 0) {
    const double variance = squares_from(of_blocks, block_times, block_values) / double(blocks - 2);
    out.slope_error = std::sqrt(variance / of_blocks.spread);
  }
  return out;
}

}  // namespace quadrille::md
