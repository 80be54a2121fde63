#include "modules/eigen/cuda/divide/deflation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace quadrille::eigen {

Deflated deflate(int n1, std::vector<double> d, std::vector<double> z, const std::vector<int>& order, double rho) {
  constexpr double eps = 0x1p-53;
  const int n = int(d.size());
  Deflated out;
  double largest_d = 0, largest_z = 0;
  for (int i = 0; i < n; ++i) {
    largest_d = std::max(largest_d, std::abs(d[i]));
    largest_z = std::max(largest_z, std::abs(z[i]));
  }
  const double tolerance = 8 * eps * std::max(largest_d, largest_z);
  std::vector<int> kept, dropped;
  std::vector<char> kind(n);
  for (int i = 0; i < n; ++i) kind[std::size_t(i)] = i < n1 ? 1 : 3;
  int pending = -1;
  for (const int i : order) {
    if (rho * std::abs(z[i]) <= tolerance) {
      dropped.push_back(i);
      continue;
    }
    if (pending >= 0) {
      const double length = std::hypot(z[i], z[pending]), c = z[i] / length, s = -z[pending] / length,
                   gap = d[i] - d[pending];
      if (std::abs(gap * c * s) <= tolerance) {
        z[i] = length;
        z[pending] = 0;
        if (kind[i] != kind[pending]) kind[i] = 2;
        out.rotations.push_back({pending, i, c, s});
        const double a = d[pending], b = d[i];
        d[pending] = a * c * c + b * s * s;
        d[i] = a * s * s + b * c * c;
        dropped.push_back(pending);
      } else {
        kept.push_back(pending);
      }
    }
    pending = i;
  }
  if (pending >= 0) kept.push_back(pending);
  out.place.resize(kept.size());
  for (int type = 1; type <= 3; ++type) {
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kind[kept[i]] != type) continue;
      out.place[i] = int(out.column.size());
      out.column.push_back(kept[i]);
      if (type == 1) ++out.c1;
      if (type == 2) ++out.c2;
    }
  }
  for (const int i : kept) {
    out.d.push_back(d[i]);
    out.w.push_back(z[i]);
  }
  for (const int i : dropped) {
    out.column.push_back(i);
    out.rest.push_back(d[i]);
  }
  return out;
}

}  // namespace quadrille::eigen
