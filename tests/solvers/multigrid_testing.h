// What the tests of multigrid share: operators with links, coarse vectors of random numbers, distances.
#pragma once

#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/random/random.h"
#include "solvers/multigrid/coarse_operator.h"
#include "solvers/multigrid/transfer.h"
#include "tests/dirac/dirac_testing.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace quadrille::testing {

/// Calls f(numbers, count) with the numbers of each parity of a field of one lane, double or single, in the host's
/// memory, and puts them back.
template <class F>
void for_numbers(Field& x, F&& f) {
  const auto on_host = [&](auto number, Parity p) {
    std::vector<decltype(number)> numbers(std::size_t(x.lattice().half_volume() * x.desc().components()));
    const std::size_t bytes = numbers.size() * sizeof(number);
    x.desc().backend->copy_out(numbers.data(), x.numbers(p), bytes);
    f(numbers.data(), std::int64_t(numbers.size()));
    x.desc().backend->copy_in(x.numbers(p), numbers.data(), bytes);
  };
  for (const Parity p : {Parity::Even, Parity::Odd}) {
    if (!x.holds(p)) continue;
    x.desc().precision == Precision::Double ? on_host(double{}, p) : on_host(float{}, p);
  }
}

/// Gaussian numbers, for spinors and coarse vectors.
inline void fill_random(Field& x) {
  if (x.desc().site == site_formats::spinor) {
    HostSpinor psi = random_spinor(x.lattice().dims());
    import_spinor(x, psi);
    return;
  }
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  for_numbers(x, [&](auto* numbers, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      numbers[i] = std::remove_reference_t<decltype(*numbers)>(random.normal());
    }
  });
}

inline void poison(Field& x) { blas::scale(std::nan(""), x); }

/// |a - b| / |b|
inline double field_distance(const Field& a, const Field& b) {
  Field difference(a.desc());
  blas::copy(difference, a);
  return std::sqrt(blas::subtract_norm2(b, difference) / blas::norm2(b));
}

/// P with random test vectors, made orthonormal.
inline std::unique_ptr<multigrid::Transfer> random_transfer(const FieldDesc& fine, const Dims& block, int vectors) {
  auto aggregates = std::make_shared<const multigrid::Aggregates>(*fine.lattice, block);
  auto transfer = multigrid::make_transfer(std::move(aggregates), fine, vectors);
  Field vector(fine);
  for (int k = 0; k < vectors; ++k) {
    fill_random(vector);
    transfer->take(k, vector);
  }
  transfer->orthonormalise();
  return transfer;
}

}  // namespace quadrille::testing
