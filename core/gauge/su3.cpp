#include "core/gauge/su3.h"

namespace quadrille {

Matrix3 exp_i(const Matrix3& h) {
  double largest = 0;
  for (const Complex& x : h.e) largest = std::max(largest, std::abs(x));
  int squarings = 0;
  while (largest * 3 > 0.5) {
    largest /= 2;
    ++squarings;
  }
  const Matrix3 step = Complex(0, std::ldexp(1.0, -squarings)) * h;
  Matrix3 sum = Matrix3::identity(), term = Matrix3::identity();
  for (int n = 1; n <= 16; ++n) {  // 0.5^17 / 17! is far below 2^-53
    term = Complex(1.0 / n) * (term * step);
    sum = sum + term;
  }
  for (int s = 0; s < squarings; ++s) sum = sum * sum;
  return sum;
}

}  // namespace quadrille
