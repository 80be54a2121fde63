// Conversions, gauge rotations and foreign arrays of spinors on the device: one thread a site.
#include "core/backend/cuda/grouped_access.cuh"
#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/runtime.h"
#include "core/field/site_transfer.h"
#include "core/layout/grouped_layout.h"

#include <type_traits>

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

/// Access to the numbers of a site of any format, one by one.
template <class NumberType>
struct AnyNumbers {
  using Number = NumberType;
  using Real = std::conditional_t<std::is_same_v<Number, double>, double, float>;
  static constexpr bool in_half = std::is_same_v<Number, std::int16_t>;

  Number* numbers;
  float* norms;
  int components, section;

  __device__ __forceinline__ Number& at(std::int64_t site, int n) const {
    return numbers[grouped_place(site, n, components, section, group_bytes / int(sizeof(Number)))];
  }
  /// What a quantum is worth; numbers of formats without norms are relative to 1.
  __device__ __forceinline__ float quantum(std::int64_t site) const {
    return !in_half ? 1.0f : (norms == nullptr ? 1.0f : norms[site]) * (1.0f / 32767.0f);
  }
  __device__ __forceinline__ Real get(std::int64_t site, int n, [[maybe_unused]] float quantum) const {
    if constexpr (in_half) return half::whole<0>(std::uint16_t(at(site, n))) * quantum;
    return at(site, n);
  }
};

/// to = from at one site, in half precision the norm first.
template <class To, class From>
struct ConvertAnySite {
  To to;
  From from;

  __device__ __forceinline__ void operator()(std::int64_t site) const {
    const float quantum = from.quantum(site);
    if constexpr (To::in_half) {
      store_in_half(site, quantum);
    } else {
      for (int n = 0; n < to.components; ++n) to.at(site, n) = typename To::Real(from.get(site, n, quantum));
    }
  }

 private:
  __device__ __forceinline__ void store_in_half(std::int64_t site, float quantum) const {
    float norm = 1;
    if (to.norms != nullptr) {
      norm = 0;
      for (int n = 0; n < to.components; ++n) norm = half::largest(norm, float(from.get(site, n, quantum)));
    }
    const float quanta = half::quanta_of(norm);
    for (int n = 0; n < to.components; ++n) {
      const float x = float(from.get(site, n, quantum));  // what is not finite becomes 0, as in half::quantize()
      to.at(site, n) = std::int16_t(half::rounded(isfinite(x) ? fminf(fmaxf(x, -norm), norm) : 0.0f, quanta));
    }
    if (to.norms != nullptr) to.norms[site] = norm;
  }
};

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

void convert_sites(const Spinor& dst, const Spinor& src, const SiteFormat& format, std::int64_t sites) {
  with_accesses(dst, src, [&](auto to, auto from) {
    const auto any = [&](const auto& access) {
      using Number = typename std::decay_t<decltype(access)>::Number;
      return AnyNumbers<Number>{static_cast<Number*>(access.numbers), access.norms, format.numbers(), format.section};
    };
    const auto into = any(to);
    const auto out_of = any(from);
    launch(ConvertAnySite<std::decay_t<decltype(into)>, std::decay_t<decltype(out_of)>>{into, out_of}, sites);
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
