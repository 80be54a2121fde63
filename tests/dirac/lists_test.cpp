// Lists of calls, one for each of many right-hand sides: the bits of each are those of a call alone, whatever the list.
#include "core/error.h"
#include "core/operator/normal_operator.h"
#include "core/tuning/kernel_log.h"
#include "dirac/systems/adjoint.h"
#include "dirac/systems/even_odd.h"
#include "tests/dirac/dirac_testing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;

constexpr std::size_t lengths[] = {1, 2, 3, 5, 12, 17};
constexpr std::size_t longest = 17;

/// Fields of one description, with random numbers or with none.
class ListFields {
 public:
  ListFields(const FieldDesc& desc, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) fields_.emplace_back(desc);
  }
  static ListFields random(const FieldDesc& desc, std::size_t count) {
    ListFields made(desc, count);
    for (Field& field : made.fields_) import_part(field, random_spinor(desc.lattice->dims()));
    return made;
  }
  void poison() {
    HostSpinor nothing(fields_.front().lattice().dims());
    std::fill(nothing.data.begin(), nothing.data.end(), Complex(std::numeric_limits<double>::quiet_NaN(), 0));
    for (Field& field : fields_) import_part(field, nothing);
  }
  Field& operator[](std::size_t i) { return fields_[i]; }

  /// Of its own parity or parities; zeros elsewhere.
  static std::vector<Complex> bits(const Field& field) {
    Field full(FieldDesc::spinor(field.lattice(), Subset::Full, field.desc().precision, backend()));
    import_spinor(full, HostSpinor(field.lattice().dims()));
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (!field.holds(p)) continue;
      Field part = full.parity(p);
      convert(part, field.parity(p));
    }
    HostSpinor host(field.lattice().dims());
    export_spinor(host, full);
    return host.data;
  }

 private:
  static void import_part(Field& field, const HostSpinor& host) {
    Field full(FieldDesc::spinor(field.lattice(), Subset::Full, field.desc().precision, backend()));
    import_spinor(full, host);
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      if (!field.holds(p)) continue;
      Field part = field.parity(p);
      convert(part, full.parity(p));
    }
  }

  std::deque<Field> fields_;
};

/// apply_each() of every length against apply().
void lists_have_the_bits_of_calls_alone(const LinearOperator& a, const std::string& what) {
  ListFields x = ListFields::random(a.field_desc(), longest), y(a.field_desc(), longest);
  for (const Dagger dagger : {Dagger::No, Dagger::Yes}) {
    std::vector<std::vector<Complex>> alone;
    for (std::size_t i = 0; i < longest; ++i) {
      a.apply(y[i], x[i], dagger);
      alone.push_back(ListFields::bits(y[i]));
    }
    for (const std::size_t length : lengths) {
      y.poison();
      std::vector<Operands> list;
      for (std::size_t i = longest - length; i < longest; ++i) list.push_back({&y[i], &x[i]});
      a.apply_each(list, dagger);
      for (std::size_t i = longest - length; i < longest; ++i)
        ASSERT_EQ(ListFields::bits(y[i]), alone[i]) << what << ", call " << i << " of the last " << length;
    }
    y.poison();
    a.apply_each({}, dagger);  // of nothing
    const std::vector<Complex> untouched = ListFields::bits(y[0]);
    EXPECT_TRUE(std::any_of(untouched.begin(), untouched.end(), [](Complex x) { return std::isnan(x.real()); }));
  }
}

struct NamedTerms {
  const char* name;
  Scene::Terms terms;
};

class Lists : public ::testing::TestWithParam<NamedTerms> {};

INSTANTIATE_TEST_SUITE_P(Operators, Lists,
                         ::testing::Values(NamedTerms{"wilson", {}}, NamedTerms{"twisted_mass", {.mu = 0.3}},
                                           NamedTerms{"clover", {.csw_r = 1.1, .csw_t = 0.9}},
                                           NamedTerms{"exponential_clover",
                                                      {.csw_r = 1.1, .csw_t = 0.9, .exponential = true}},
                                           NamedTerms{"twisted_clover", {.mu = 0.3, .csw_r = 1.1, .csw_t = 0.9}}),
                         [](const ::testing::TestParamInfo<NamedTerms>& info) { return info.param.name; });

/// Of every operator, precision, reconstruction and instruction set; with and without lanes that fill a register.
TEST_P(Lists, HaveTheBitsOfCallsAlone) {
  using Kind = EvenOddForm::Kind;
  const Dims dims = next_seed() % 2 == 0 ? Dims{4, 4, 4, 8} : Dims{6, 4, 2, 6};
  const Scene scene(dims, testing::weak_start(Lattice(dims), next_seed(), 0.3), GetParam().terms);
  for (const OperatorForm& form : all_forms()) {
    for (const Isa isa : available_isas()) {
      const ForcedIsa forced(isa);
      const std::string what = to_string(form) + " " + to_string(isa);
      const std::shared_ptr<const WilsonOperator> m = scene.shared_wilson(form);
      lists_have_the_bits_of_calls_alone(*m, what + ", M");
      for (const Kind kind : {Kind::asymmetric, Kind::symmetric}) {
        const std::string reduced = what + (kind == Kind::symmetric ? ", symmetric" : ", asymmetric");
        lists_have_the_bits_of_calls_alone(EvenOddOperator(m, {Parity::Odd, kind}), reduced);
      }
    }
  }
}

TEST(ListsOfOtherOperators, HaveTheBitsOfCallsAlone) {
  const Scene scene = Scene::weak({4, 4, 4, 8}, 0.3);
  const std::shared_ptr<const WilsonOperator> m = scene.shared_wilson();
  lists_have_the_bits_of_calls_alone(NormalOperator(std::make_shared<const EvenOddOperator>(m)), "A^+ A");
  lists_have_the_bits_of_calls_alone(AdjointOperator(m), "M^+");
  lists_have_the_bits_of_calls_alone(EvenOddOperator(std::make_shared<const AdjointOperator>(m)), "of M^+");
}

/// An operator that knows nothing of lists.
class Copy final : public LinearOperator {
 public:
  explicit Copy(const FieldDesc& desc) : desc_(desc) {}
  const FieldDesc& field_desc() const override { return desc_; }
  void apply(Field& y, const Field& x, Dagger) const override { convert(y, x); }
  double flops() const override { return 0; }

 private:
  FieldDesc desc_;
};

TEST(ListsOfOtherOperators, AreOneCallAfterTheOtherByDefault) {
  const Lattice lattice({4, 4, 2, 2});
  lists_have_the_bits_of_calls_alone(Copy(FieldDesc::spinor(lattice, Subset::Full, Precision::Single, backend())),
                                     "a copy");
}

/// Results in place of z, and each way to launch a kernel, of which a GPU has many.
TEST(ListsOfHops, HaveTheBitsOfCallsAloneInEveryWayToLaunchThem) {
  const Dims dims{8, 4, 6, 4};
  Scene scene = Scene::weak(dims, 0.3);
  for (const std::array<double, 4>& boundary : {std::array<double, 4>{0.3, 1, -0.55, 0.125}, {0, 1, 0, 1}}) {
    scene.parameters.boundary = boundary;
    for (const OperatorForm& form : all_forms()) {
      const WilsonOperator m = scene.wilson(form);
      const HopKernel& kernel = m.dslash().kernel();
      FieldDesc desc = m.dslash().field_desc();
      ListFields z = ListFields::random(desc, longest), y(desc, longest);
      desc.subset = Subset::Odd;
      ListFields x = ListFields::random(desc, longest);
      for (const bool xpay : {false, true}) {
        const auto operands = [&](std::size_t i) {
          if (xpay) convert(y[i], z[i]);
          return Operands{&y[i], &x[i], xpay ? &y[i] : nullptr};
        };
        std::vector<std::vector<Complex>> alone;
        for (std::size_t i = 0; i < longest; ++i) {
          const Operands one = operands(i);
          kernel.run({only(one), Parity::Even, Dagger::Yes, {-0.7}, {1.3}});
          alone.push_back(ListFields::bits(y[i]));
        }
        for (const std::size_t length : {2u, 7u, 16u}) {
          for (std::size_t way = 0; way < kernel.ways(length); ++way) {
            y.poison();
            std::vector<Operands> list;
            for (std::size_t i = 0; i < length; ++i) list.push_back(operands(i));
            kernel.run_in(way, {list, Parity::Even, Dagger::Yes, {-0.7}, {1.3}});
            for (std::size_t i = 0; i < length; ++i)
              ASSERT_EQ(ListFields::bits(y[i]), alone[i])
                  << to_string(form) << " xpay " << xpay << ", way " << way << ", call " << i << " of " << length;
          }
        }
      }
    }
  }
}

TEST(ListsOfHops, FieldsThatDoNotFitAreRefused) {
  const Scene scene = Scene::weak({4, 4, 4, 4}, 0.3);
  const WilsonOperator m = scene.wilson();
  const Dslash& dslash = m.dslash();
  FieldDesc desc = dslash.field_desc();
  ListFields y = ListFields::random(desc, 3);
  desc.subset = Subset::Odd;
  ListFields x = ListFields::random(desc, 3);
  const auto refusal = [&](const std::vector<Operands>& list) {
    try {
      dslash.apply_each(list, Dagger::No, {0.5}, {1});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::internal);
      return error.message();
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal({{&y[0], &x[0]}, {&y[0], &x[1]}}), "dslash: two calls of a list have the same result");
  EXPECT_EQ(refusal({{&y[0], &x[0], &y[1]}, {&y[1], &x[1], &y[2]}}),
            "dslash: the xpay term of a call of a list is the result of another");
  EXPECT_EQ(refusal({{&y[0], &x[0]}, {&y[1], &x[1], &y[1]}}), "dslash: calls of a list with different operands");
  EXPECT_NE(refusal({{&y[0], &x[0]}, {&x[1], &x[2]}}).find("dslash result"), std::string::npos);
  EXPECT_EQ(refusal({{&y[0], &x[0], &y[0]}, {&y[1], &x[0], &y[2]}}), "none");  // one x of two, a z that is no result
  EXPECT_THROW(dslash.apply_local_each(std::vector<Operands>{{&y[0], nullptr, &y[2]}, {&y[0], nullptr, &y[2]}}, {2}),
               Error);
}

TEST(ListsOfHops, CountWhatTheyMove) {
  const Scene scene = Scene::weak({4, 4, 4, 4}, 0.3);
  const WilsonOperator m = scene.wilson({Precision::Single, Reconstruct::R12, false});
  ListFields x = ListFields::random(m.field_desc(), 3), y(m.field_desc(), 3);
  const auto before = kernel_records();
  m.apply_each(std::vector<Operands>{{&y[0], &x[0]}, {&y[1], &x[1]}, {&y[2], &x[2]}}, Dagger::No);
  const auto ran = kernel_records_since(before);
  ASSERT_EQ(ran.size(), 1u);
  EXPECT_EQ(ran[0].name, "wilson_single_12_xpay_rhs3");
  EXPECT_EQ(ran[0].calls, 2);
  EXPECT_EQ(ran[0].sites, 3 * 256);
  EXPECT_EQ(ran[0].bytes_per_site, 8 * 48 / 3.0 + 3 * 96);
}

}  // namespace
}  // namespace quadrille
