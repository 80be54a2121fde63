// The forms of the small product, worked out on the host as matrix units and cuBLAS's calls would, against the exact
// product and the bound of the error.
#include "modules/mgemm/choice/form_bound.h"

#include "core/error.h"
#include "core/random/random.h"
#include "modules/mgemm/choice/device_cost.h"
#include "modules/shared/dense/narrow_parts.h"
#include "tests/modules/mgemm/salted.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

namespace quadrille::mgemm {
namespace {

template <class Parts>
std::vector<double> values_of(double x, const auto& decode) {
  typename Parts::Element parts[Parts::parts];
  Parts::encode(x, parts);
  std::vector<double> values;
  for (const auto& part : parts) values.push_back(double(decode(part)));
  return values;
}

/// The parts of x; digits as whole numbers.
std::vector<double> parts_of(SmallForm form, double x) {
  using namespace narrow;
  const auto same = [](auto e) { return e; };
  switch (form) {
    case SmallForm::single: return values_of<FloatParts<SingleFormat, 1>>(x, &SingleFormat::decode);
    case SmallForm::half2: return values_of<FloatParts<HalfFormat, 2>>(x, &HalfFormat::decode);
    case SmallForm::digits3: return values_of<Digits<3>>(x, same);
    case SmallForm::digits4: return values_of<Digits<4>>(x, same);
    case SmallForm::digits5: return values_of<Digits<5>>(x, same);
    case SmallForm::digits6: return values_of<Digits<6>>(x, same);
    default: return {};
  }
}

/// x cut towards zero to multiples of 2^exponent.
double cut(double x, int exponent) { return std::ldexp(std::trunc(std::ldexp(x, -exponent)), exponent); }

/// One block of a matrix unit: what is below the last bit of single precision of the largest addend is cut, and then
/// the sum. That is the least that any of them keeps.
double cut_block(double sum, const double* products, std::int64_t count) {
  double largest = std::abs(sum);
  for (std::int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(products[i]));
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest) - 23;
  double total = cut(sum, exponent);
  for (std::int64_t i = 0; i < count; ++i) total += cut(products[i], exponent);
  return total == 0 ? 0 : cut(total, std::ilogb(total) - 23);
}

/// A row of A and a column of B in parts, one behind the other as on the device: those of B in the other order.
struct PartLines {
  std::vector<double> a, b;
  std::int64_t padded;
};

double sum_of_products(const FormTraits& form, const PartLines& lines, std::int64_t a, std::int64_t b,
                       std::int64_t count, int block) {
  std::vector<double> products(static_cast<std::size_t>(count));
  for (std::int64_t l = 0; l < count; ++l) {
    products[std::size_t(l)] = lines.a[std::size_t(a + l)] * lines.b[std::size_t(b + l)];
  }
  double sum = 0;
  if (form.truncates) {
    for (std::int64_t l = 0; l < count; l += block) {
      sum = cut_block(sum, products.data() + l, std::min<std::int64_t>(block, count - l));
    }
  } else if (form.integer) {
    for (double p : products) sum += p;
    EXPECT_LT(std::abs(sum), 0x1p31);
  } else {
    for (double p : products) sum = double(float(sum + p));
  }
  return sum;
}

/// The element of the small product, as the calls of cuBLAS and the merges make it.
double emulated(const FormTraits& form, const PartLines& lines, std::int64_t depth, int block, double units) {
  double in_place = 0, merged = 0;
  for (int order = form.parts - 1; order >= 0; --order) {
    const std::int64_t terms = (order + 1) * lines.padded, longest = depth_of_order(form, depth, order);
    for (std::int64_t first = 0; first < terms; first += longest) {
      const double sum = sum_of_products(form, lines, first, (form.parts - 1 - order) * lines.padded + first,
                                         std::min(longest, terms - first), block);
      if (form.integer)
        merged += sum * std::ldexp(units, -12 - 8 * order);
      else
        in_place = double(float(in_place + sum));
    }
  }
  return form.integer ? merged : in_place * units;
}

struct Example {
  std::int64_t m = 5, n = 4, k;
  std::vector<double> a, b;
  double delta;

  DenseView<const double> rows() const { return {a.data(), m, k, k, true}; }
  DenseView<const double> columns() const { return {b.data(), n, k, k, true}; }
  static double most(const std::vector<double>& x) {
    double most = 0;
    for (double v : x) most = std::max(most, std::abs(v));
    return most;
  }
  ErrorBound bound(const FormTraits& form, std::int64_t depth) const {
    const AnalysedProduct product{
        {m, n, k}, profile_on_host(rows(), most(a), {delta}, 1), profile_on_host(columns(), most(b), {delta}, 1)};
    return form_error_bound(product, 0, form, depth);
  }

  /// The largest error of the product of the small elements.
  double error(const FormTraits& form, std::int64_t depth, int block) const {
    const double ua = std::ldexp(1.0, unit_exponent(form, delta, most(a))),
                 ub = std::ldexp(1.0, unit_exponent(form, delta, most(b)));
    double largest = 0;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        PartLines lines{{}, {}, padded_length(k)};
        lines.a.assign(std::size_t(form.parts * lines.padded), 0.0);
        lines.b = lines.a;
        long double exact = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          const auto small = [&](double x) { return std::abs(x) <= delta ? x : 0.0; };
          const double x = small(a[std::size_t(i * k + l)]), y = small(b[std::size_t(j * k + l)]);
          exact += static_cast<long double>(x) * static_cast<long double>(y);
          const std::vector<double> px = parts_of(form.form, x / ua), py = parts_of(form.form, y / ub);
          for (int r = 0; r < form.parts; ++r) {
            lines.a[std::size_t(r * lines.padded + l)] = px[std::size_t(r)];
            lines.b[std::size_t((form.parts - 1 - r) * lines.padded + l)] = py[std::size_t(r)];
          }
        }
        const double found = emulated(form, lines, depth, block, ua * ub);
        largest = std::max(largest, double(std::abs(static_cast<long double>(found) - exact)));
      }
    }
    return largest;
  }
};

/// Backgrounds of several kinds: uniform, positive, and over many magnitudes; with salt and without.
Example example(int kind, std::int64_t k, double scale) {
  Example e;
  e.k = k;
  e.delta = scale;
  e.a = testing::salted_matrix(e.m * k, kind == 2 ? 0 : 0.01, 100);
  e.b = testing::salted_matrix(e.n * k, kind == 2 ? 0 : 0.01, 100);
  SiteRandom random(testing::next_seed(), RandomPurpose::Test, 1);
  for (auto* matrix : {&e.a, &e.b}) {
    for (double& x : *matrix) {
      if (kind == 1) x = std::abs(x);
      if (kind == 2) x = std::ldexp(x, -int(40 * random.uniform()));
      x *= scale;
    }
  }
  return e;
}

class Forms : public ::testing::TestWithParam<SmallForm> {};
INSTANTIATE_TEST_SUITE_P(All, Forms,
                         ::testing::Values(SmallForm::single, SmallForm::half2, SmallForm::digits3, SmallForm::digits4,
                                           SmallForm::digits5, SmallForm::digits6),
                         [](const auto& info) { return to_string(info.param); });

TEST_P(Forms, TheErrorIsBelowItsBound) {
  const FormTraits& form = traits_of(GetParam());
  for (int kind : {0, 1, 2}) {
    for (double scale : {1.0, 0x1p-200, 1e30}) {
      for (std::int64_t k : {70, 700}) {
        const Example e = example(kind, k, scale);
        for (int block : {4, 8, 16}) {
          for (std::int64_t depth : {64, 256, 4096}) {
            EXPECT_LE(e.error(form, depth, block), e.bound(form, depth).certain)
                << "kind " << kind << ", scale " << scale << ", k " << k << ", block " << block << ", depth " << depth;
            if (!form.truncates) break;
          }
          if (!form.truncates) break;
        }
      }
    }
  }
}

/// Sums of positive numbers all err to one side: the bound is not far above.
TEST_P(Forms, TheBoundIsNoWideOne) {
  const FormTraits& form = traits_of(GetParam());
  const Example e = example(1, 1400, 1.0);
  const double error = e.error(form, 2048, 4), bound = e.bound(form, 2048).certain;
  // Digits err like random numbers, about sqrt(k) times less than the worst; with six of them what is left of the bound
  // is that of sums in double.
  const double times = form.truncates ? 30 : form.form == SmallForm::digits6 ? 1e6 : 600;
  EXPECT_LE(bound, times * error) << bound << " " << error;
}

TEST_P(Forms, OrdersOfPartsMatterLessAndLess) {
  const FormTraits& form = traits_of(GetParam());
  const Example e = example(0, 300, 1.0);
  const double bound = e.bound(form, 64).certain;
  EXPECT_GT(bound, 0);
  EXPECT_LE(e.bound(form, 64).probable, bound);
  if (form.integer) return;
  EXPECT_LT(bound, e.bound(form, 300).certain * 1.0001);
}

TEST(FormTraits, MorePartsAreMoreExact) {
  const Example e = example(0, 500, 1.0);
  const auto bound = [&](SmallForm form) { return e.bound(traits_of(form), 256).certain; };
  EXPECT_LT(100 * bound(SmallForm::digits4), bound(SmallForm::digits3));
  // By 256, but for the rounding of sums in double, which depends on how many elements happen to be large.
  EXPECT_LT(20 * bound(SmallForm::digits5), bound(SmallForm::digits4));
}

TEST(FormTraits, NamesAreThereAndBack) {
  EXPECT_EQ(form_named("automatic"), SmallForm::automatic);
  for (const FormTraits& form : all_forms()) EXPECT_EQ(form_named(form.name), form.form);
  try {
    form_named("quarter");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_input);
    EXPECT_NE(error.message().find("'quarter'"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("half2, digits3"), std::string::npos) << error.message();
  }
}

TEST(FormTraits, CallsCoverEveryTermOnce) {
  for (const FormTraits& form : all_forms()) {
    for (std::int64_t padded : {64, 4096, 300032}) {
      std::int64_t calls = 0;
      for (int order = 0; order < form.parts; ++order) {
        const std::int64_t depth = depth_of_order(form, 512, order);
        EXPECT_EQ(depth % 64, 0);
        for (std::int64_t first = 0; first < (order + 1) * padded; first += depth) ++calls;
      }
      EXPECT_EQ(dense_calls(form, 512, padded), calls);
    }
  }
  EXPECT_EQ(padded_length(1), 64);
  EXPECT_EQ(padded_length(64), 64);
  EXPECT_EQ(padded_length(65), 128);
}

}  // namespace
}  // namespace quadrille::mgemm
