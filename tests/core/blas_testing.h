// Naive field algebra in double, and random fields of every precision, format, width and subset to compare with it.
#pragma once

#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "core/simd/isa.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace quadrille::testing::algebra {

using blas::Complex;
using Array = std::vector<Complex>;

/// The complex numbers of all sites that the field holds, as they stand in it.
inline Array values(const Field& field) {
  HostImage image(field);
  const Field& x = image.field();
  const std::size_t count = std::size_t(x.desc().components());
  Array out;
  with_number_type(x.desc().precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    std::vector<typename Access::Real> site(count);
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (!x.holds(p)) continue;
      const Access from(x, p);
      for (std::int64_t index = 0; index < x.lattice().half_volume(); ++index) {
        from.load(index, site.data());
        for (std::size_t n = 0; n < count; n += 2) out.emplace_back(double(site[n]), double(site[n + 1]));
      }
    }
  });
  return out;
}

/// What a field may hold a site: spinors have kernels of their own.
inline std::vector<SiteFormat> vector_formats() {
  return {site_formats::spinor, {"color vectors", 1, 6, true}, {"coarse vectors", 2, 38, true}};
}

// A plain sum in double would itself be wrong by more than the tolerances below.
inline double norm2(const Array& x) {
  long double sum = 0;
  for (const Complex& c : x) sum += std::norm(c);
  return double(sum);
}

inline Complex dot(const Array& x, const Array& y) {
  Complex sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += std::conj(x[i]) * y[i];
  return sum;
}

/// a x + b y + c z, element by element.
inline Array combine(Complex a, const Array& x, Complex b, const Array& y, Complex c = 0, const Array& z = {}) {
  Array out(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) out[i] = a * x[i] + b * y[i] + (z.empty() ? 0.0 : c * z[i]);
  return out;
}

class Blas : public ::testing::Test {
 protected:
  /// Runs `body` on fresh random fields for every precision, format, instruction set, subset and some extents.
  void for_all(const std::function<void(std::vector<Field>& f, double tolerance)>& body) {
    // 16 x 8 x 4 x 8 has two chunks a parity.
    for (const Dims& dims : testing::test_extents) {
      const Lattice lattice(dims);
      for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
        for (Isa isa : available_isas()) {
          for (const SiteFormat& format : vector_formats()) {
            for (Subset subset : {Subset::Even, Subset::Odd, Subset::Full})
              on_fields(lattice, format, subset, p, isa, body);
          }
        }
      }
    }
  }

  static void on_fields(const Lattice& lattice, const SiteFormat& format, Subset subset, Precision p, Isa isa,
                        const std::function<void(std::vector<Field>& f, double tolerance)>& body) {
    FieldDesc desc = FieldDesc::of(format, lattice, subset, p, testing::backend());
    if (!desc.layout.grouped()) desc.layout.lanes = choose_lanes(lattice.dims(), p, isa);
    std::vector<Field> fields;
    for (int i = 0; i < 5; ++i) {
      fields.emplace_back(desc);
      fill_gaussian(fields.back(), testing::next_seed());
    }
    SCOPED_TRACE(to_string(p) + " " + format.name + " " + to_string(isa) + " lanes " +
                 std::to_string(desc.layout.lanes));
    body(fields, p == Precision::Double ? 1e-14 : p == Precision::Single ? 1e-6 : 2e-4);
  }

  /// |field - expected| <= tolerance |expected|
  static void expect_field(const Field& field, const Array& expected, double tolerance) {
    const Array got = values(field);
    EXPECT_LE(std::sqrt(norm2(combine(1, got, -1, expected))), tolerance * std::sqrt(norm2(expected)));
  }
  static void expect_sum(Complex got, Complex expected, double scale, double tolerance) {
    EXPECT_LE(std::abs(got - expected), tolerance * scale);
  }

  const Complex a{0.7, -1.3}, b{-0.4, 0.25}, w{1.1, 0.6};
};

}  // namespace quadrille::testing::algebra
