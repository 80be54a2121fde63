// The kernel of the sparse products of one instruction set: compiled once for each, with QUADRILLE_ISA its name.
#include "modules/mgemm/kernels.h"

#include "core/simd.h"

namespace quadrille::mgemm {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int width = QUADRILLE_ISA_BYTES / 8;
constexpr int vectors = large_lanes / width;

void add_row(const double* packed, const std::int32_t* slots, const double* values, std::int32_t count, double alpha,
             double* c, std::int64_t lane_step, int lanes) {
  using Real = simd::Vec<double, width>;
  Real sums[vectors] = {};
  for (std::int32_t e = 0; e < count; ++e) {
    const Real* row = reinterpret_cast<const Real*>(packed + std::int64_t(slots[e]) * large_lanes);
    const Real value = simd::broadcast<double, width>(values[e]);
    for (int v = 0; v < vectors; ++v) sums[v] += value * row[v];
  }
  alignas(64) double result[large_lanes];
  for (int v = 0; v < vectors; ++v) reinterpret_cast<Real*>(result)[v] = sums[v] * alpha;
  if (lane_step == 1) {
    for (int lane = 0; lane < lanes; ++lane) c[lane] += result[lane];
  } else {
    for (int lane = 0; lane < lanes; ++lane) c[lane * lane_step] += result[lane];
  }
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

AddRow QUADRILLE_JOIN(find_add_row_, QUADRILLE_ISA)() { return add_row; }

}  // namespace quadrille::mgemm
