#include "modules/loops/loops.h"

#include "modules/loops/lines/line_work.h"

#include <cstddef>

namespace quadrille::loops {

namespace {

constexpr double colors = 3;

double terms(const GaugeStore& links) { return colors * double(volume(links.lattice().global_dims())); }

}  // namespace

Complex polyakov_loop(const GaugeStore& links, int direction) {
  const auto lines = make_line_work(links);
  lines->begin(direction);
  for (int length = 1; length < links.lattice().global_dims()[std::size_t(direction)]; ++length) lines->extend();
  std::array<double, 2> sums = lines->trace();
  links.lattice().communicator().sum(sums.data(), sums.size());
  return Complex(sums[0], sums[1]) / terms(links);
}

LoopTable wilson_loops(const GaugeStore& links, const LoopPlane& plane, const std::function<void(double)>& progress) {
  const auto lines = make_line_work(links);
  LoopTable table;
  for (int r = 1; r <= plane.r; ++r) {
    if (r == 1) {
      lines->begin(plane.mu, plane.nu);
    } else {
      lines->extend();
    }
    std::vector<double> sums;
    for (int t = 1; t <= plane.t; ++t) sums.push_back(lines->lift());
    links.lattice().communicator().sum(sums.data(), sums.size());
    for (double& sum : sums) sum /= terms(links);
    table.push_back(std::move(sums));
    progress(double(r) / plane.r);
  }
  return table;
}

LoopTable mean_of(const std::vector<LoopTable>& tables) {
  LoopTable mean = tables.front();
  for (std::size_t r = 0; r < mean.size(); ++r) {
    for (std::size_t t = 0; t < mean[r].size(); ++t) {
      double sum = 0;
      for (const LoopTable& table : tables) sum += table[r][t];
      mean[r][t] = sum / double(tables.size());
    }
  }
  return mean;
}

}  // namespace quadrille::loops
