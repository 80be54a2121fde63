#include "core/gauge/su3_project.h"

#include "core/error.h"
#include "core/gauge/observables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {

bool project_su3(Matrix3& u) {
  Matrix3 x = u;
  constexpr int most_steps = 60;
  for (int step = 0;; ++step) {
    const Complex det = determinant(x);
    if (!(std::abs(det) > 1e-100) || !std::isfinite(std::abs(det)) || step == most_steps) return false;
    const Matrix3 inverse_adjoint = conjugate_cofactors(x);
    const Complex scale = 1.0 / std::conj(det);
    double change = 0;
    for (std::size_t i = 0; i < 9; ++i) {
      const Complex next = 0.5 * (x[i] + product(scale, inverse_adjoint[i]));
      change = std::max(change, std::abs(next - x[i]));
      x[i] = next;
    }
    if (change < 1e-9) break;  // convergence is quadratic: the next step would change rounding only
  }
  const Complex phase = std::polar(1.0, -std::arg(determinant(x)) / 3);
  for (std::size_t i = 0; i < 9; ++i) u[i] = product(x[i], phase);
  return true;
}

double reunitarize(HostLinks& links) {
  const std::int64_t count = std::int64_t(links.data.size()) / 9;
  std::int64_t bad = count;
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(min : bad) reduction(max : largest)
  for (std::int64_t n = 0; n < count; ++n) {
    Complex* link = links.data.data() + n * 9;
    Matrix3 u = Matrix3::read(link);
    if (!project_su3(u)) {
      bad = std::min(bad, n);
      continue;
    }
    for (std::size_t i = 0; i < 9; ++i) {
      largest = std::max(largest, std::abs(u[i] - link[i]));
      link[i] = u[i];
    }
  }
  if (bad < count)
    throw Error(ErrorCode::numerical, fmt::format("the link at {} is singular or not finite: it has no nearest SU(3) "
                                                  "matrix, so reunitarizing cannot mend this field",
                                                  link_name(links.dims, bad / 4, int(bad % 4))));
  return largest;
}

}  // namespace quadrille
