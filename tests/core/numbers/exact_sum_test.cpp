#include "core/numbers/exact_sum.h"

#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace quadrille {
namespace {

double sum_of(const std::vector<double>& terms, double largest, std::size_t parts) {
  const ExactQuanta quanta = ExactQuanta::of(double(terms.size()), largest);
  std::vector<ExactSum> partial(parts);
  for (std::size_t i = 0; i < terms.size(); ++i) partial[i * parts / terms.size()].add(terms[i], quanta);
  ExactSum all;
  for (const ExactSum& part : partial) {
    all.coarse += part.coarse;
    all.fine += part.fine;
  }
  return all.value();
}

TEST(ExactSum, HasTheSameBitsInAnyOrder) {
  std::mt19937_64 random(testing::next_seed());
  for (const std::size_t count : {16u, 1000u, 100000u}) {
    for (const double largest : {1e-3, 12.0}) {
      std::uniform_real_distribution<double> term(-largest / 3, largest);
      std::vector<double> terms(count);
      for (double& t : terms) t = term(random);
      terms[0] = largest;
      terms[1] = -largest;
      long double exact = 0;
      for (const double t : terms) exact += t;
      const double first = sum_of(terms, largest, 1);
      EXPECT_NEAR(first, double(exact), 1e-15 * largest * double(count));
      double plain = 0;
      bool plain_differs = false;
      for (const double t : terms) plain += t;
      for (const std::size_t parts : {2u, 3u, 7u, 16u}) {
        std::shuffle(terms.begin(), terms.end(), random);
        EXPECT_EQ(sum_of(terms, largest, parts), first) << count << " terms up to " << largest;
        double other = 0;
        for (const double t : terms) other += t;
        plain_differs = plain_differs || other != plain;
      }
      EXPECT_TRUE(plain_differs || count == 16) << "the test's terms would show no order";
    }
  }
}

TEST(ExactSum, WhatIsNotFiniteReachesTheSum) {
  std::vector<double> terms(20, 0.25);
  terms[7] = std::nan("");
  EXPECT_TRUE(std::isnan(sum_of(terms, 1, 3)));
  terms[7] = HUGE_VAL;
  EXPECT_FALSE(std::isfinite(sum_of(terms, 1, 3)));
}

TEST(ExactSum, TermsThatAreTooLargeAreSummedAllTheSame) {
  std::vector<double> terms(20, 0.25);
  terms[3] = 1e12;
  EXPECT_NEAR(sum_of(terms, 1, 1) / (1e12 + 19 * 0.25), 1, 1e-15);
}

}  // namespace
}  // namespace quadrille
