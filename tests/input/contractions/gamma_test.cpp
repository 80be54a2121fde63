// The 16 gamma matrices against plain matrices.
#include "input/contractions/gamma.h"

#include "core/error.h"
#include "core/field/spin_basis.h"
#include "tests/input/contractions/dense_gammas.h"

#include <gtest/gtest.h>

#include <set>

namespace quadrille {
namespace {

using namespace testing;

constexpr Complex power_of_i[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};

Dense dense(const Gamma& gamma) {
  Dense out{};
  for (std::size_t row = 0; row < 4; ++row) out[row][std::size_t(gamma.column[row])] = power_of_i[gamma.power[row]];
  return out;
}

TEST(Gamma, NamesAreProductsOfPlainMatrices) {
  ASSERT_EQ(gamma_names().size(), 16u);
  EXPECT_EQ(std::set<std::string>(gamma_names().begin(), gamma_names().end()).size(), 16u);
  for (const std::string& name : gamma_names()) EXPECT_EQ(dense(gamma_named(name)), dense_gamma(name)) << name;
  EXPECT_THROW(gamma_named("g4"), Error);
  EXPECT_THROW(gamma_named("gxg"), Error);
}

TEST(Gamma, ProductsAndAdjointsAreThoseOfMatrices) {
  for (const std::string& a : gamma_names()) {
    EXPECT_EQ(dense(adjoint(gamma_named(a))), dense_adjoint(dense_gamma(a))) << a;
    for (const std::string& b : gamma_names())
      EXPECT_EQ(dense(gamma_named(a) * gamma_named(b)), dense_gamma(a) * dense_gamma(b)) << a << " " << b;
  }
}

TEST(Gamma, DirectionsAnticommute) {
  const std::string names[] = {"gx", "gy", "gz", "gt", "g5"};
  for (const std::string& a : names)
    for (const std::string& b : names) {
      const Dense ab = dense(gamma_named(a) * gamma_named(b)), ba = dense(gamma_named(b) * gamma_named(a));
      for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t j = 0; j < 4; ++j)
          EXPECT_EQ(ab[i][j] + ba[i][j], Complex(a == b && i == j ? 2 : 0)) << a << " " << b;
    }
}

// The basis of fields turns them into the matrices of core/field/spin_basis.h, where g_t and g_5 are the simplest.
TEST(Gamma, AreInTheBasisThatFieldsAreExportedTo) {
  const double gt[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, -1, 0}, {0, 0, 0, -1}};
  const double g5[4][4] = {{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}};
  for (int column = 0; column < 4; ++column) {
    double inside[4] = {}, outside[4];
    inside[column] = 1;
    spin_basis::to_degrand_rossi(outside, inside, 1);
    for (const auto& [name, wanted] : {std::pair("gt", gt), std::pair("g5", g5)}) {
      double turned[4], back[4];
      const Dense matrix = dense(gamma_named(name));
      for (std::size_t row = 0; row < 4; ++row) {
        Complex sum = 0;
        for (std::size_t k = 0; k < 4; ++k) sum += matrix[row][k] * outside[k];
        turned[row] = sum.real();
      }
      spin_basis::from_degrand_rossi(back, turned, 1);
      for (int row = 0; row < 4; ++row) EXPECT_NEAR(back[row], wanted[row][column], 1e-15) << name;
    }
  }
}

TEST(Gamma, ReversalSigns) {
  for (const std::string& name : gamma_names()) {
    const Dense five = dense_gamma("g5"), gamma = dense_gamma(name);
    const Dense reversed = five * dense_adjoint(gamma) * five;
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j)
        EXPECT_EQ(reversed[i][j], double(reversal_sign(gamma_named(name))) * gamma[i][j]) << name;
  }
}

}  // namespace
}  // namespace quadrille
