// Conversions, gauge rotations and foreign arrays of spinors on the device: one thread a site.
#include "core/backend/cuda/grouped_access.cuh"
#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/runtime.h"
#include "core/field/site_transfer.h"

namespace quadrille::cuda {
namespace {

constexpr int threads = 128;

template <class Body>
__global__ void __launch_bounds__(threads) for_each_site(Body body, std::int64_t sites) {
  const std::int64_t site = std::int64_t(blockIdx.x) * threads + threadIdx.x;
  if (site < sites) body(site);
}

template <class Body>
void launch(const Body& body, std::int64_t sites) {
  for_each_site<<<unsigned((sites + threads - 1) / threads), threads, 0, stream()>>>(body, sites);
  check(cudaGetLastError(), "a conversion's launch");
}

/// Calls f with the accesses of dst and src.
template <class F>
void with_accesses(const Spinor& dst, const Spinor& src, F&& f) {
  const auto with = [](const Spinor& field, auto&& g) {
    switch (field.precision) {
      case Precision::Double: g(SpinorAccess<double>{field.numbers, field.norms}); break;
      case Precision::Single: g(SpinorAccess<float>{field.numbers, field.norms}); break;
      case Precision::Half: g(SpinorAccess<std::int16_t>{field.numbers, field.norms}); break;
    }
  };
  with(dst, [&](auto to) { with(src, [&](auto from) { f(to, from); }); });
}

}  // namespace

void convert(const Spinor& dst, const Spinor& src, std::int64_t sites) {
  with_accesses(dst, src, [&](auto to, auto from) {
    launch(ConvertSite<decltype(to), decltype(from)>{to, from}, sites);
  });
}

void rotate(const Spinor& dst, const Spinor& src, const double* g, bool adjoint, std::int64_t sites) {
  using Matrices = GroupedAccess<double, 1, 18>;
  const Matrices matrices{const_cast<double*>(g), nullptr};
  with_accesses(dst, src, [&](auto to, auto from) {
    launch(RotateSite<decltype(to), decltype(from), Matrices>{to, from, matrices, adjoint}, sites);
  });
}

void read_spinors(const Spinor& dst, const ForeignSpinors& src, int parity, std::int64_t sites) {
  using To = SpinorAccess<double>;
  const To to{dst.numbers, dst.norms};
  if (src.bits == 64) return launch(ReadSpinor<To, double>{to, src, parity}, sites);
  launch(ReadSpinor<To, float>{to, src, parity}, sites);
}

void write_spinors(const ForeignSpinors& dst, const Spinor& src, int parity, std::int64_t sites) {
  using From = SpinorAccess<double>;
  const From from{src.numbers, src.norms};
  if (dst.bits == 64) return launch(WriteSpinor<From, double>{from, dst, parity}, sites);
  launch(WriteSpinor<From, float>{from, dst, parity}, sites);
}

}  // namespace quadrille::cuda
