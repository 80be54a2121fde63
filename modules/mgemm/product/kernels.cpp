// The kernel of the sparse products of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/mgemm/product/kernels.h"

#include "core/simd/simd.h"

namespace quadrille::mgemm {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int width = QUADRILLE_ISA_BYTES / 8;
constexpr int vectors = large_lanes / width;

void multiply_row(const double* packed, const std::int32_t* slots, const double* values, std::int32_t count,
                  double alpha, double* result) {
  using Real = simd::Vec<double, width>;
  Real sums[vectors] = {};
  for (std::int32_t e = 0; e < count; ++e) {
    const Real* row = reinterpret_cast<const Real*>(packed + std::int64_t(slots[e]) * large_lanes);
    const Real value = simd::broadcast<double, width>(values[e]);
    for (int v = 0; v < vectors; ++v) sums[v] += value * row[v];
  }
  for (int v = 0; v < vectors; ++v) reinterpret_cast<Real*>(result)[v] = sums[v] * alpha;
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

MultiplyRow QUADRILLE_JOIN(find_multiply_row_, QUADRILLE_ISA)() { return multiply_row; }

}  // namespace quadrille::mgemm
