// The C call: energies of the library, B instead of (ia|P), statuses and messages.
#include "modules/ri_mp2/capi/c_api.h"

#include "tests/modules/ri_mp2/systems.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace quadrille::ri_mp2 {
namespace {

using ::testing::HasSubstr;
using testing::random_system;

quadrille_ri_mp2_energy fresh() {
  quadrille_ri_mp2_energy energy{};
  energy.struct_size = sizeof energy;
  return energy;
}

quadrille_status call(const System& system, const double* p_q, const quadrille_ri_mp2_options* options,
                      quadrille_ri_mp2_energy& energy) {
  return quadrille_ri_mp2(system.occupied, system.virtuals, system.auxiliary, system.ia_p.data(), p_q,
                          system.eps_occupied.data(), system.eps_virtual.data(), options, &energy);
}

TEST(RiMp2InC, EnergiesAreThoseOfTheLibrary) {
  const System system = random_system(5, 14, 20);
  quadrille_ri_mp2_options options{};
  options.struct_size = sizeof options;
  for (const char* precision : {"double", "single", "mgemm"}) {
    Options same;
    same.products.precision = precision[0] == 'd'   ? mgemm::ProductPrecision::double_
                              : precision[0] == 's' ? mgemm::ProductPrecision::single
                                                    : mgemm::ProductPrecision::mgemm;
    same.products.cutoff = same.step3 = mgemm::Cutoff::at(0.1);
    same.products.always_split = true;
    const Energy expected = correlation_energy(system, same);
    options.precision = precision;
    options.delta = 0.1;
    options.always_split = 1;
    quadrille_ri_mp2_energy energy = fresh();
    ASSERT_EQ(call(system, system.p_q.data(), &options, energy), QUADRILLE_DONE) << quadrille_ri_mp2_message();
    EXPECT_EQ(energy.correlation, expected.correlation);
    EXPECT_EQ(energy.opposite_spin, expected.opposite_spin);
    EXPECT_EQ(energy.same_spin, expected.same_spin);
    EXPECT_EQ(energy.form, expected.step4.form.substr(0, sizeof energy.form - 1));
    EXPECT_EQ(std::isnan(energy.error), precision[0] != 'd');
  }
}

TEST(RiMp2InC, AnAutomaticCutoffSaysItsError) {
  const System system = random_system(8, 60, 70);
  quadrille_ri_mp2_energy exact = fresh(), energy = fresh();
  ASSERT_EQ(call(system, system.p_q.data(), nullptr, exact), QUADRILLE_DONE) << quadrille_ri_mp2_message();
  EXPECT_EQ(exact.error, 0);
  quadrille_ri_mp2_options options{};
  options.struct_size = sizeof options;
  options.precision = "mgemm";
  options.target_error = 0.1;
  options.always_split = 1;
  ASSERT_EQ(call(system, system.p_q.data(), &options, energy), QUADRILLE_DONE) << quadrille_ri_mp2_message();
  EXPECT_THAT(energy.form, HasSubstr("mgemm"));
  EXPECT_GT(energy.error, 0);
  EXPECT_LE(energy.error, 0.1);
  EXPECT_LT(std::abs(energy.correlation - exact.correlation), 2 * energy.error) << "a sample is no bound";
}

TEST(RiMp2InC, BTakesThePlaceOfIntegralsAndMetric) {
  System system = random_system(4, 9, 15);
  quadrille_ri_mp2_energy of_integrals = fresh(), of_b = fresh();
  ASSERT_EQ(call(system, system.p_q.data(), nullptr, of_integrals), QUADRILLE_DONE);
  Energy ignored;
  system.ia_p = make_b(system, {}, ignored);
  ASSERT_EQ(call(system, nullptr, nullptr, of_b), QUADRILLE_DONE) << quadrille_ri_mp2_message();
  EXPECT_NEAR(of_b.correlation, of_integrals.correlation, 1e-13 * std::abs(of_integrals.correlation));
}

TEST(RiMp2InC, ACapLeavesTheEnergyAsItIs) {
  const System system = random_system(20, 12, 30);
  quadrille_ri_mp2_energy whole = fresh(), capped = fresh();
  ASSERT_EQ(call(system, system.p_q.data(), nullptr, whole), QUADRILLE_DONE);
  EXPECT_EQ(whole.streamed, 0);
  const testing::TemporaryFolder folder;
  const std::string scratch = folder.file("scratch"), there = folder.file("");
  quadrille_ri_mp2_options options{};
  options.struct_size = sizeof options;
  options.memory_cap = 20 * 12 * 30 * 8 / 4;
  for (const double* p_q : {system.p_q.data(), static_cast<const double*>(nullptr)}) {
    options.scratch = p_q == nullptr ? there.c_str() : scratch.c_str();
    ASSERT_EQ(call(system, p_q, nullptr, whole), QUADRILLE_DONE);
    ASSERT_EQ(call(system, p_q, &options, capped), QUADRILLE_DONE) << quadrille_ri_mp2_message();
    EXPECT_NEAR(capped.correlation, whole.correlation, 1e-12 * std::abs(whole.correlation));
    EXPECT_GT(capped.streamed, 2 * 20 * 12 * 30 * 8);
    EXPECT_EQ(folder.count(), 0);
  }
  options.memory_cap = 100;
  EXPECT_EQ(call(system, system.p_q.data(), &options, capped), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("the smallest that does is "));
  // A program built before there was a cap.
  options.struct_size = offsetof(quadrille_ri_mp2_options, memory_cap);
  whole.struct_size = offsetof(quadrille_ri_mp2_energy, streamed);
  EXPECT_EQ(call(system, system.p_q.data(), &options, whole), QUADRILLE_DONE) << quadrille_ri_mp2_message();
}

TEST(RiMp2InC, ErrorsAreStatusCodesWithMessages) {
  System system = random_system(2, 3, 4);
  quadrille_ri_mp2_energy energy{};
  EXPECT_EQ(call(system, system.p_q.data(), nullptr, energy), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("quadrille_ri_mp2: energy: struct_size = 0"));
  energy = fresh();
  quadrille_ri_mp2_options options{};
  options.struct_size = sizeof options;
  options.precision = "half";
  EXPECT_EQ(call(system, system.p_q.data(), &options, energy), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("precision = 'half': it must be double, single or mgemm"));
  constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
  for (const std::int64_t size : {huge, std::int64_t(0), std::int64_t(-1), -huge}) {
    EXPECT_EQ(quadrille_ri_mp2(2, size, 4, system.ia_p.data(), nullptr, system.eps_occupied.data(),
                               system.eps_virtual.data(), nullptr, &energy),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("virtuals = " + std::to_string(size) + ": it must be 1 to"));
  }
  EXPECT_EQ(quadrille_ri_mp2(1 << 30, 1 << 30, 1 << 30, system.ia_p.data(), nullptr, system.eps_occupied.data(),
                             system.eps_virtual.data(), nullptr, &energy),
            QUADRILLE_NO_MEMORY);
  EXPECT_EQ(quadrille_ri_mp2(2, 3, 4, nullptr, nullptr, system.eps_occupied.data(), system.eps_virtual.data(), nullptr,
                             &energy),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("ia_p is a null pointer"));
  system.eps_virtual[1] = -5;
  EXPECT_EQ(call(system, system.p_q.data(), nullptr, energy), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_ri_mp2_message(), HasSubstr("the gap must be positive"));
}

}  // namespace
}  // namespace quadrille::ri_mp2
