#include "modules/quenched/polyakov.h"

#include "core/numbers/chunked_sum.h"

#include <cstddef>
#include <cstdint>

namespace quadrille::quenched {

std::array<double, 2> loop_traces(std::vector<Matrix3> products, const Communicator& ranks) {
  constexpr int time = 3;
  std::vector<Matrix3> before(ranks.splits(time) ? products.size() : 0);
  for (int turn = 1; turn < ranks.grid()[time]; ++turn) {
    ranks.exchange({{time, products.data(), before.data(), products.size() * sizeof(Matrix3)}});
    if (ranks.coordinates()[time] != turn) continue;
    for (std::size_t place = 0; place < products.size(); ++place) products[place] = before[place] * products[place];
  }
  if (!ranks.at_edge(time)) return {};
  return chunked_sum<2>(std::int64_t(products.size()), [&](std::int64_t place, std::array<double, 2>& sum) {
    const Matrix3& loop = products[std::size_t(place)];
    const Complex trace = loop(0, 0) + loop(1, 1) + loop(2, 2);
    sum[0] += trace.real();
    sum[1] += trace.imag();
  });
}

}  // namespace quadrille::quenched
