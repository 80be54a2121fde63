#include "modules/md/capi/c_api.h"
#include "core/error.h"
#include "modules/md/lists/list_forces.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/random_seed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace quadrille::md {
namespace {

using ::testing::HasSubstr;

/// Forces for positions where the backend has its memory.
void expect_the_same_there(quadrille_md_forces* handle, const std::vector<double>& positions, const double* box,
                           const std::vector<double>& expected) {
  Backend& where = testing::backend();
  const std::size_t bytes = positions.size() * sizeof(double);
  auto* from = static_cast<double*>(where.allocate(bytes));
  auto* to = static_cast<double*>(where.allocate(bytes));
  where.copy_in(from, positions.data(), bytes);
  EXPECT_EQ(quadrille_md_forces_compute(handle, from, box, to, nullptr, nullptr), QUADRILLE_DONE)
      << quadrille_md_message();
  std::vector<double> found(positions.size(), NAN);
  where.copy_out(found.data(), to, bytes);
  EXPECT_EQ(found, expected);
  where.release(from, bytes);
  where.release(to, bytes);
}

TEST(PairForcesInC, AreThoseOfTheClass) {
  const System system = random_system(150, 3, 0.8, 0.08, testing::next_seed());
  ForceOptions same;
  same.method = Method::int64;
  same.backend = &testing::backend();
  PairForces forces(system, same);
  const ForceResult expected = forces.compute(system.positions, {}, true);

  const std::string backend = testing::backend().name();
  quadrille_md_options options{};
  options.struct_size = sizeof options;
  options.backend = backend.c_str();
  options.method = "int64";
  quadrille_md_forces* handle = nullptr;
  ASSERT_EQ(quadrille_md_forces_create(150, system.types.data(), nullptr, 3, system.table.c12.data(),
                                       system.table.c6.data(), &options, &handle),
            QUADRILLE_DONE)
      << quadrille_md_message();
  std::vector<double> found(450, NAN), virial(9, NAN);
  double energy = NAN;
  ASSERT_EQ(quadrille_md_forces_compute(handle, system.positions.data(), nullptr, found.data(), &energy, virial.data()),
            QUADRILLE_DONE)
      << quadrille_md_message();
  EXPECT_EQ(found, expected.forces);
  EXPECT_EQ(energy, expected.energy);
  EXPECT_THAT(virial, ::testing::ElementsAreArray(expected.virial));
  quadrille_md_forces_destroy(handle);

  // The same with positions and forces where the backend has its memory.
  options.on_device = 1;
  ASSERT_EQ(quadrille_md_forces_create(150, system.types.data(), nullptr, 3, system.table.c12.data(),
                                       system.table.c6.data(), &options, &handle),
            QUADRILLE_DONE);
  expect_the_same_there(handle, system.positions, nullptr, expected.forces);
  quadrille_md_forces_destroy(handle);
}

TEST(PairForcesInC, ComeFromNeighbourListsToo) {
  System system = random_system(300, 3, 0.8, 0.08, testing::next_seed());
  system.box = {8, 8, 8};
  ListOptions same;
  same.forces.cutoff = 2.5;
  same.forces.backend = &testing::backend();
  same.truncation = Truncation::shifted_force;
  const ForceResult expected = ListForces(system, same).compute(system.positions, system.box, true);
  quadrille_md_options options{};
  const std::string backend = testing::backend().name();
  options.struct_size = sizeof options;
  options.backend = backend.c_str();
  options.cutoff = 2.5;
  options.skin = 0.4;
  options.truncation = "shifted_force";
  quadrille_md_forces* handle = nullptr;
  const auto create = [&] {
    return quadrille_md_forces_create(300, system.types.data(), nullptr, 3, system.table.c12.data(),
                                      system.table.c6.data(), &options, &handle);
  };
  ASSERT_EQ(create(), QUADRILLE_DONE) << quadrille_md_message();
  std::vector<double> found(900, NAN), virial(9, NAN);
  double energy = NAN;
  ASSERT_EQ(quadrille_md_forces_compute(handle, system.positions.data(), system.box.data(), found.data(), &energy,
                                        virial.data()),
            QUADRILLE_DONE)
      << quadrille_md_message();
  EXPECT_EQ(found, expected.forces);
  EXPECT_EQ(energy, expected.energy);
  EXPECT_THAT(virial, ::testing::ElementsAreArray(expected.virial));
  quadrille_md_forces_destroy(handle);

  options.on_device = 1;
  ASSERT_EQ(create(), QUADRILLE_DONE) << quadrille_md_message();
  expect_the_same_there(handle, system.positions, system.box.data(), expected.forces);
  quadrille_md_forces_destroy(handle);
  options.truncation = "smooth";
  EXPECT_EQ(create(), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(),
              HasSubstr("truncation must be cut, shifted_potential or shifted_force, got 'smooth'"));
  options.truncation = "shifted_force";
  options.skin = 0;
  EXPECT_EQ(create(), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("needs a skin"));
}

/// Positions of many calls where the backend has its memory: lists stay, are built again, for another box too.
TEST(ListForcesThere, AreThoseOfTheHost) {
  Backend& where = testing::backend();
  System system = random_system(500, 2, 0.8, 0.1, testing::next_seed());
  std::array<double, 3> box{9, 9.2, 9.1};
  ListOptions options;
  options.forces.cutoff = 2.5;
  options.forces.backend = &where;
  ListForces there(system, options), here(system, options);
  const std::size_t count = system.positions.size(), bytes = count * sizeof(double);
  auto* from = static_cast<double*>(where.allocate(bytes));
  auto* to = static_cast<double*>(where.allocate(bytes));
  std::mt19937_64 random(testing::next_seed());
  std::uniform_real_distribution<double> shift(-0.06, 0.06);
  for (int call = 0; call < 12; ++call) {
    for (double& x : system.positions) x += shift(random);
    if (call == 8) box[1] = 9.5;
    const bool energy = call % 3 == 0;
    where.copy_in(from, system.positions.data(), bytes);
    const ForceResult found = there.compute_there(from, box, to, energy);
    std::vector<double> forces(count, NAN), expected(count, NAN);
    where.copy_out(forces.data(), to, bytes);
    const ForceResult same = here.compute_into(system.positions, box, expected, energy);
    EXPECT_EQ(forces, expected) << call;
    EXPECT_EQ(found.energy, same.energy) << call;
    EXPECT_EQ(found.virial, same.virial) << call;
    EXPECT_EQ(there.statistics().builds, here.statistics().builds) << call;
    EXPECT_EQ(there.memory().listed_positions, here.memory().listed_positions) << call;
  }
  EXPECT_GT(there.statistics().builds, 2);
  EXPECT_LT(there.statistics().builds, 12);
  const auto message_at = [&](double x) {
    std::vector<double> bad = system.positions;
    bad[3 * 41 + 1] = x;
    where.copy_in(from, bad.data(), bytes);
    try {
      there.compute_there(from, box, to);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_THAT(message_at(NAN), HasSubstr("coordinate y of particle 42 is nan"));
  EXPECT_THAT(message_at(1e9), HasSubstr("particle 42 is lost"));
  box[2] = 4;
  EXPECT_THAT(message_at(1), HasSubstr("edge z of the box is 4"));
  where.release(from, bytes);
  where.release(to, bytes);
}

TEST(PairForcesInC, SayWhatIsWrong) {
  const std::int32_t types[] = {0, 2};
  const double c[] = {1};
  quadrille_md_forces* handle = nullptr;
  EXPECT_EQ(quadrille_md_forces_create(2, types, nullptr, 1, c, c, nullptr, &handle), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("particle 2 has type 3"));
  EXPECT_EQ(quadrille_md_forces_create(2, nullptr, nullptr, 1, c, c, nullptr, &handle), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("types is a null pointer"));
  quadrille_md_options options{};
  EXPECT_EQ(quadrille_md_forces_create(1, types, nullptr, 1, c, c, &options, &handle), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("struct_size"));
  options.struct_size = sizeof options;
  options.method = "H";
  EXPECT_EQ(quadrille_md_forces_create(1, types, nullptr, 1, c, c, &options, &handle), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("unknown method 'H'"));
  const std::int32_t one_type[] = {0, 0};
  const double same_place[] = {1, 2, 3, 1, 2, 3};
  double forces[6] = {};
  ASSERT_EQ(quadrille_md_forces_create(2, one_type, nullptr, 1, c, c, nullptr, &handle), QUADRILLE_DONE);
  EXPECT_EQ(quadrille_md_forces_compute(handle, same_place, nullptr, forces, nullptr, nullptr), QUADRILLE_NUMERICAL);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("distance of 0"));
  EXPECT_EQ(quadrille_md_forces_compute(handle, nullptr, nullptr, forces, nullptr, nullptr), QUADRILLE_INVALID_INPUT);
  quadrille_md_forces_destroy(handle);
  quadrille_md_forces_destroy(nullptr);
}

TEST(PairForcesInC, HandlesAreLookedUp) {
  const std::int32_t types[] = {0, 0};
  const double table[] = {1}, positions[] = {0, 0, 0, 1.5, 0, 0};
  double forces[6];
  quadrille_md_forces* handle = nullptr;
  ASSERT_EQ(quadrille_md_forces_create(2, types, nullptr, 1, table, table, nullptr, &handle), QUADRILLE_DONE);
  EXPECT_EQ(quadrille_md_forces_compute(handle, positions, nullptr, forces, nullptr, nullptr), QUADRILLE_DONE);
  quadrille_md_forces_destroy(handle);
  quadrille_md_forces_destroy(handle);  // does nothing
  quadrille_md_forces_destroy(nullptr);
  EXPECT_EQ(quadrille_md_forces_compute(handle, positions, nullptr, forces, nullptr, nullptr),
            QUADRILLE_INVALID_HANDLE);
  EXPECT_THAT(quadrille_md_message(), HasSubstr("the handle of pair forces has been destroyed"));
  EXPECT_EQ(quadrille_md_forces_compute(nullptr, positions, nullptr, forces, nullptr, nullptr),
            QUADRILLE_INVALID_HANDLE);
}

TEST(PairForcesInC, CountsThatCannotBeAreInvalidInput) {
  const std::int32_t types[] = {0, 0};
  const double table[] = {1};
  quadrille_md_forces* handle = nullptr;
  for (const std::int64_t count : {std::numeric_limits<std::int64_t>::max(), std::int64_t(-1)}) {
    EXPECT_EQ(quadrille_md_forces_create(count, types, nullptr, 1, table, table, nullptr, &handle),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_md_message(), HasSubstr("particles = " + std::to_string(count) + ": it must be 1 to"));
    quadrille_md_options options{};
    options.struct_size = sizeof options;
    options.exclusion_count = count;
    EXPECT_EQ(quadrille_md_forces_create(2, types, nullptr, 1, table, table, &options, &handle),
              QUADRILLE_INVALID_INPUT);
    EXPECT_THAT(quadrille_md_message(), HasSubstr("exclusion_count = " + std::to_string(count)));
  }
}

}  // namespace
}  // namespace quadrille::md
