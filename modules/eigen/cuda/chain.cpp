#include "modules/eigen/cuda/chain.h"

#include "core/error.h"
#include "modules/eigen/cuda/bulge/apply_q2.h"
#include "modules/eigen/cuda/divide/divide.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/normalize.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/triangle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

/// A real tridiagonal matrix.
struct Tridiagonal {
  std::vector<double> diagonal, beside;
};

/// Of what chase_bulges() leaves.
template <class Number>
Tridiagonal tridiagonal_of(std::int64_t n, const Number* band) {
  constexpr std::size_t row = sizeof(Number) * 2 * bandwidth;
  std::vector<Number> pairs(std::size_t(2 * n));
  QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(pairs.data(), 2 * sizeof(Number), band, row, 2 * sizeof(Number),
                                         std::size_t(n), cudaMemcpyDeviceToHost, cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
  Tridiagonal out;
  for (std::size_t i = 0; i < std::size_t(n); ++i) {
    out.diagonal.push_back(real(pairs[2 * i]));
    if (i + 1 < std::size_t(n)) out.beside.push_back(real(pairs[2 * i + 1]));
  }
  return out;
}

/// The reflections of bulge chasing.
template <class Number>
struct Bulges {
  cuda::DeviceArray<Number> v, tau;
};

template <class Number>
Tridiagonal chase(std::int64_t n, Number* band, bool with_vectors, Bulges<Number>& bulges) {
  const std::int64_t diamonds = diamond_base(n, groups_of(n));
  if (with_vectors) {
    bulges.v = zeros<Number>(diamonds * bandwidth * bandwidth);
    bulges.tau = zeros<Number>(diamonds * bandwidth);
  }
  const auto progress = zeros<int>(n + 1);
  if (n > 1) {
    chase_bulges(Bulge<Number>{band, int(n), bulges.v.get(), bulges.tau.get(), progress.get(), progress.get() + n});
  }
  return tridiagonal_of(n, band);
}

template <class Number>
cuda::DeviceArray<Number> as_numbers(std::int64_t count, cuda::DeviceArray<double> real_numbers) {
  if constexpr (std::is_same_v<Number, double>) {
    return real_numbers;
  } else {
    auto out = device_array<Number>(std::max<std::int64_t>(count, 1));
    if (count > 0) widen(count, real_numbers.get(), out.get());
    return out;
  }
}

/// Vectors of the tridiagonal matrix become those of the problem.
template <class T>
void transform_back(const Chain<T>& chain, Phases& phases, Bulges<There<T>>& bulges, const There<T>* tau, There<T>* x,
                    std::int64_t count) {
  const std::int64_t n = chain.n;
  const double part = double(count) / double(n);
  phases.run(phase::back_to_band, cube<T>(n, 2 * part), [&] {
    chain.together([&] {
      if (count > 0) apply_q2(n, bulges.v.get(), bulges.tau.get(), x, n, count);
      finish_phase();
    });
  });
  bulges.v.reset();
  phases.run(phase::back_to_standard, cube<T>(n, 2 * part), [&] {
    chain.apply_q1(tau, x, count);
    finish_phase();
  });
  if (chain.to_standard) {
    phases.run(phase::back_to_general, cube<T>(n, part), [&] {
      chain.to_general(x, count);
      finish_phase();
    });
  }
  phases.run(phase::normalization, 0, [&] {
    if (count > 0) normalize_vectors(n, count, x, n, chain.scale);
    finish_phase();
  });
}

}  // namespace

void finish_phase() { QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream())); }

int even_exponent(double largest) { return largest == 0 ? 0 : std::ilogb(largest) / 2 * 2; }

void refuse_element(const std::string& name, std::int64_t row, std::int64_t column, Triangle given) {
  if (given == Triangle::upper) std::swap(row, column);
  throw Error(ErrorCode::numerical,
              fmt::format("{}: the element in row {}, column {} is not finite", name, row + 1, column + 1));
}

template <class Number>
void divide_lower_half(std::int64_t n, std::int64_t columns, Number* a, std::int64_t lda, int exponent) {
  if (exponent == 0) return;
  // In two steps: 2^-exponent itself may be out of range.
  scale_lower_half(n, columns, a, lda, std::ldexp(1.0, -exponent / 2));
  scale_lower_half(n, columns, a, lda, std::ldexp(1.0, -exponent / 2));
}

template <class T>
double chain_bytes(std::int64_t n, const Fraction& fraction, std::int64_t share, double matrices, double band) {
  const double square = double(n) * double(n), number = sizeof(T);
  const double before = matrices + number * double(2 * bandwidth * n);
  if (fraction.kind() == Fraction::Kind::none) return before + band;
  const double reflections = number * double(diamond_base(n, groups_of(n))) * bandwidth * (bandwidth + 1);
  const double vectors = number * double(n) * double(share);
  const double dividing = sizeof(double) * (2 * square + double(n) * 2100);
  const double found = sizeof(double) * square + (is_complex<T> ? vectors : 0);
  return before +
         std::max({band, reflections + dividing, 2 * reflections + found, found + q1_bytes<There<T>>(n, share)});
}

template <class T>
ChainEnd<T> run_chain(const Chain<T>& chain) {
  const std::int64_t n = chain.n, most = chain.fraction.most(n);
  const Fraction::Kind kind = chain.fraction.kind();
  const bool with_vectors = kind != Fraction::Kind::none;
  ChainEnd<T> end;
  Pairs<T>& out = end.found;
  out.n = n;
  const bool count_is_known = kind == Fraction::Kind::all || kind == Fraction::Kind::range;
  if (count_is_known) chain.count_known(chain.share(chain.fraction.among(std::vector<double>(std::size_t(n)))).count);
  const double part = double(most) / double(n);
  Phases phases(chain.progress, cube<T>(n, (chain.to_standard ? 1 + part : 0) + 4.0 / 3 + 2 * part) + 4.0 / 3 * part);
  int exponent = chain.exponent;
  if (chain.to_standard) {
    phases.run(phase::standard_form, cube<T>(n, 1), [&] {
      exponent += chain.to_standard();
      finish_phase();
    });
  }
  Band<There<T>> band;
  phases.run(phase::band, cube<T>(n, 4.0 / 3), [&] {
    band = chain.to_band();
    finish_phase();
  });
  Bulges<There<T>> bulges;
  Tridiagonal t;
  phases.run(phase::bulge_chasing, 0,
             [&] { chain.together([&] { t = chase(n, band.band.get(), with_vectors, bulges); }); });
  band.band.reset();
  if (!with_vectors) {
    phases.run(phase::tridiagonal, 0,
               [&] { chain.together([&] { out.spectrum = tridiagonal_values(t.diagonal, t.beside); }); });
    out.tridiagonal_form = "bisection";
    scale_back(out.spectrum, exponent);
    out.values = out.spectrum;
    out.range = {0, n};
    out.phases = phases.take();
    return end;
  }
  const WantedVectors wanted = [&](std::vector<double> values) {
    scale_back(values, exponent);
    out.range = chain.fraction.among(values);
    out.spectrum = std::move(values);
    end.share = chain.share(out.range);
    return std::pair(end.share.first, end.share.count);
  };
  phases.run(phase::tridiagonal, 4.0 / 3 * double(n) * double(n) * double(n), [&] {
    std::optional<DivideAndConquer> division;
    chain.together([&] {
      division.emplace(std::move(t.diagonal), std::move(t.beside), chain.rank, chain.ranks);
      division->solve_subtrees();
    });
    if (chain.ranks > 1) chain.exchange(division->found());
    chain.together([&] {
      TridiagonalVectors pairs = division->merge(wanted);
      end.vectors = as_numbers<There<T>>(n * end.share.count, std::move(pairs.vectors));
      finish_phase();
    });
  });
  out.tridiagonal_form = "divide and conquer";
  if (!count_is_known) chain.count_known(end.share.count);
  const auto first = out.spectrum.begin() + out.range.first;
  out.values.assign(first, first + out.range.count);
  transform_back(chain, phases, bulges, band.tau.get(), end.vectors.get(), end.share.count);
  out.phases = phases.take();
  return end;
}

#define QUADRILLE_CHAIN(T)                                                                     \
  template ChainEnd<T> run_chain(const Chain<T>&);                                             \
  template double chain_bytes<T>(std::int64_t, const Fraction&, std::int64_t, double, double); \
  template void divide_lower_half(std::int64_t, std::int64_t, There<T>*, std::int64_t, int);
QUADRILLE_CHAIN(double)
QUADRILLE_CHAIN(std::complex<double>)
#undef QUADRILLE_CHAIN

}  // namespace quadrille::eigen
