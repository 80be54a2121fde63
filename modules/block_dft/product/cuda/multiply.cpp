// multiply(): parts of C, one after the other, become one matrix.
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/product/cuda/part_product.h"
#include "modules/block_dft/product/ranks/cuda/multiply_on_ranks.h"
#include "modules/block_dft/product/ranks/cuda/transposes_on_ranks.h"
#include "modules/shared/study/take_turns.h"

#include <cmath>

namespace quadrille::block_dft {
namespace {

/// Never by whole matrices.
const MultiplyOptions by_blocks{.driver = Driver::own};

}  // namespace

MultiplyReport multiply(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b,
                        double beta, DeviceMatrix& c, const MultiplyOptions& options) {
  const double began = now();
  const ProductForm form = product_form(alpha, op_a, a, op_b, b, beta, c, options);
  if (form.rows.grid()) return multiply_on_ranks(alpha, op_a, a, op_b, b, beta, c, options);
  std::vector<DeviceMatrix> parts;
  MultiplyReport report =
      for_each_part(form, a.data(), b.data(), c.data(), [&](DeviceMatrix part) { parts.push_back(std::move(part)); });
  c = joined(std::move(parts));
  cuda_backend().synchronize();
  report.seconds = now() - began;
  return report;
}

double norm_of_product(double alpha, Transpose op_a, const DeviceMatrix& a, Transpose op_b, const DeviceMatrix& b,
                       double beta, const DeviceMatrix& c, const MultiplyOptions& options) {
  const ProductForm form = product_form(alpha, op_a, a, op_b, b, beta, c, options);
  if (form.rows.grid()) {
    DeviceMatrix sum = copied(c);
    multiply(alpha, op_a, a, op_b, b, beta, sum, options);
    return frobenius_norm(sum);
  }
  double norm = 0;
  for_each_part(form, a.data(), b.data(), c.data(),
                [&](const DeviceMatrix& part) { norm = std::hypot(norm, frobenius_norm(part)); });
  return norm;
}

// Products with the identity are exact, and write matrices in other forms; on a grid blocks change their ranks.

DeviceMatrix transposed(const DeviceMatrix& a) {
  if (a.symmetry() == Symmetry::symmetric) return copied(a);
  if (a.rows().grid()) return transposed_on_ranks(a);
  DeviceMatrix out(a.columns(), a.rows(), a.symmetry());
  const DeviceMatrix one(identity<double>(a.rows()));
  multiply(1, Transpose::yes, a, Transpose::no, one, 0, out, by_blocks);
  return out;
}

DeviceMatrix without_symmetry(const DeviceMatrix& a) {
  if (a.symmetry() == Symmetry::none) return copied(a);
  if (a.rows().grid()) return without_symmetry_on_ranks(a);
  DeviceMatrix out(a.rows(), a.columns());
  const DeviceMatrix one(identity<double>(a.columns()));
  multiply(1, Transpose::no, a, Transpose::no, one, 0, out, by_blocks);
  return out;
}

DeviceMatrix with_symmetry(const DeviceMatrix& a, Symmetry symmetry) {
  if (a.symmetry() == symmetry) return copied(a);
  if (symmetry == Symmetry::none) return without_symmetry(a);
  if (a.rows().grid()) return with_symmetry_on_ranks(a, symmetry);
  DeviceMatrix out(a.rows(), a.columns(), symmetry);
  const DeviceMatrix one(identity<double>(a.rows()));
  multiply(0.5, Transpose::no, a, Transpose::no, one, 0, out, by_blocks);
  multiply(0.5 * mirror_sign(symmetry), Transpose::yes, a, Transpose::no, one, 1, out, by_blocks);
  return out;
}

}  // namespace quadrille::block_dft
