// Loops over memory, compiled once for each instruction set, with QUADRILLE_ISA its name.
#include "input/bench/memory_kernels.h"
#include "core/simd/simd.h"

namespace quadrille::bench {
inline namespace QUADRILLE_ISA {
namespace {

constexpr int lanes = QUADRILLE_ISA_BYTES / 8;
using Numbers = simd::Vec<double, lanes>;
using simd::DoubleStorage;
using simd::load;

/// Reads `streams` parts of the array at a time.
template <int streams>
double read(const double* a, std::int64_t count) {
  constexpr int together = 8 / streams;
  const std::int64_t part = count / streams;
  Numbers sums[8] = {};
  for (std::int64_t i = 0; i < part; i += together * lanes) {
    for (int k = 0; k < 8; ++k) {
      sums[k] += load<DoubleStorage, lanes>(a + k / together * part + i + k % together * lanes);
    }
  }
  double total = 0;
  for (const Numbers& sum : sums) {
    for (int lane = 0; lane < lanes; ++lane) total += sum[lane];
  }
  return total;
}

template <bool stream, class Value>
void write(double* out, std::int64_t count, Value value) {
  for (std::int64_t i = 0; i < count; i += 8 * lanes) {
    for (int k = 0; k < 8; ++k) simd::store<stream, double, lanes>(out + i + k * lanes, value(i + k * lanes));
  }
  if (stream) simd::stream_fence();
}

template <bool stream>
void copy(double* b, const double* a, std::int64_t count) {
  write<stream>(b, count, [=](std::int64_t i) { return load<DoubleStorage, lanes>(a + i); });
}

template <bool stream>
void triad(double* c, const double* a, const double* b, double s, std::int64_t count) {
  write<stream>(c, count, [=](std::int64_t i) {
    return load<DoubleStorage, lanes>(a + i) + s * load<DoubleStorage, lanes>(b + i);
  });
}

}  // namespace
}  // namespace QUADRILLE_ISA

#define QUADRILLE_JOIN_(a, b) a##b
#define QUADRILLE_JOIN(a, b) QUADRILLE_JOIN_(a, b)

MemoryKernels QUADRILLE_JOIN(memory_kernels_, QUADRILLE_ISA)() {
  return {{&read<1>, &read<8>}, {&copy<false>, &copy<true>}, {&triad<false>, &triad<true>}};
}

}  // namespace quadrille::bench
