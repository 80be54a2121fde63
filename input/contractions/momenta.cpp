#include "input/contractions/momenta.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

namespace quadrille {

namespace {

int square(const Momentum& n) { return n[0] * n[0] + n[1] * n[1] + n[2] * n[2]; }

}  // namespace

std::vector<Momentum> momenta_up_to(int most) {
  const int reach = int(std::sqrt(double(most)));
  std::vector<Momentum> all;
  for (int x = -reach; x <= reach; ++x)
    for (int y = -reach; y <= reach; ++y)
      for (int z = -reach; z <= reach; ++z)
        if (const Momentum n = {x, y, z}; square(n) <= most) all.push_back(n);
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return square(a) < square(b); });
  return all;
}

std::complex<double> momentum_phase(std::int64_t n, std::int64_t x, int extent) {
  const std::int64_t turns = ((-n * x) % extent + extent) % extent;  // in units of 1 / extent
  if (4 * turns % extent == 0) {
    constexpr std::complex<double> quarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return quarters[4 * turns / extent];
  }
  return std::polar(1.0, 2 * std::numbers::pi * double(turns) / extent);
}

}  // namespace quadrille
