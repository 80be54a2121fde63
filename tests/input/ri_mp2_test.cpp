// The task ri_mp2 as the program runs it, on files that are written here.
#include "input/commands/program.h"
#include "tests/modules/ri_mp2/systems.h"
#include "tests/testing/file_size_limit.h"
#include "tests/testing/hdf5_testing.h"
#include "tests/testing/temporary_folder.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace quadrille {
namespace {

using ri_mp2::System;
using testing::add_dataset;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

/// A dataset of a file, and its extents where they are not those of the system.
using OtherExtents = std::map<std::string, std::vector<hsize_t>>;

class RiMp2Job : public ::testing::Test {
 protected:
  /// Writes a system, without the dataset `missing`.
  void write(const System& system, const OtherExtents& other = {}, const std::string& missing = "") {
    const auto o = hsize_t(system.occupied), v = hsize_t(system.virtuals), n = hsize_t(system.auxiliary);
    std::filesystem::remove(file_);
    const auto add = [&](const char* name, const std::vector<hsize_t>& dims, const std::vector<double>& data) {
      const auto found = other.find(name);
      if (name != missing) add_dataset(file_, name, found == other.end() ? dims : found->second, data);
    };
    add("ia_P", {o, v, n}, system.ia_p);
    add("P_Q", {n, n}, system.p_q);
    add("eps_occ", {o}, system.eps_occupied);
    add("eps_vir", {v}, system.eps_virtual);
  }

  /// Runs `quadrille COMMAND` on a job of one task; what it says on standard error where it fails.
  std::string call(const std::string& command, const std::string& task) {
    std::ofstream(folder_.file("job.yaml")) << "run: [{task: " << task << "}]\n";
    std::ostringstream out, err;
    std::vector<std::string> words{command, folder_.file("job.yaml"), "--backend", "cpu"};
    if (command == "run") words.insert(words.end(), {"--out", folder_.file("out"), "--force"});
    return run_program(words, out, err) == 0 ? "" : err.str();
  }

  /// The results of a job of `ri_mp2` with these keys beside the file.
  nlohmann::json results(const std::string& more) {
    EXPECT_EQ(call("run", "ri_mp2, file: system.h5" + more), "");
    nlohmann::json all;
    std::ifstream(folder_.file("out/results.json")) >> all;
    return all["ri_mp2"];
  }

  /// A file is refused by the task and by a study of it, with these words after the name of the file; `early`: when the
  /// job is checked, too, before anything is done.
  void expect_refused(const std::string& dataset, const std::string& words, bool early) {
    for (const char* task : {"ri_mp2, file: system.h5", "ri_mp2_study, repeats: 1, files: [system.h5]"}) {
      const auto refused = ContainsRegex("job.yaml:1:[0-9]+: .*system.h5: dataset " + dataset + ": " + words);
      EXPECT_THAT(call("run", task), refused);
      const std::string checked = call("check", task);
      if (early) {
        EXPECT_THAT(checked, refused);
      } else {
        EXPECT_EQ(checked, "") << "integrals are not read by check";
      }
    }
  }

  testing::TemporaryFolder folder_;
  std::string file_ = folder_.file("system.h5");
};

TEST_F(RiMp2Job, TheEnergyIsThatOfItsDefinition) {
  const System system = testing::random_system(4, 9, 14);
  write(system);
  const double expected = testing::energy_of(system, testing::integrals_of(system));
  EXPECT_NEAR(results("")["e_corr"].get<double>(), expected, 1e-11 * std::abs(expected));
}

TEST_F(RiMp2Job, TheStepsHaveDeltasOfTheirOwn) {
  const System system = testing::random_system(6, 40, 50);
  write(system);
  const double expected = testing::energy_of(system, testing::integrals_of(system));
  const std::string mixed = ", precision: mgemm, always_split: true";
  const auto step = [](const nlohmann::json& found, const char* name) {
    return found[name]["form"].get<std::string>();
  };

  const nlohmann::json one = results(mixed + ", delta: 0.1");
  EXPECT_THAT(step(one, "step3"), HasSubstr("mgemm, delta 0.1, "));
  EXPECT_THAT(step(one, "step4"), HasSubstr("delta 0.1,"));
  const nlohmann::json two = results(mixed + ", delta: 0.1, delta_step3: 0.03");
  EXPECT_THAT(step(two, "step3"), HasSubstr("mgemm, delta 0.03, "));
  EXPECT_THAT(step(two, "step4"), HasSubstr("delta 0.1,"));
  const nlohmann::json exact = results(mixed + ", delta: 0.1, delta_step3: auto");
  EXPECT_EQ(step(exact, "step3"), "double");
  EXPECT_THAT(step(exact, "step4"), HasSubstr("delta 0.1,"));
  const nlohmann::json chosen = results(mixed + ", target_error: 1.0e-3, delta_step3: 0.03");
  EXPECT_THAT(step(chosen, "step3"), HasSubstr("mgemm, delta 0.03, "));
  const nlohmann::json coarse = results(mixed + ", target_error: 1.0e-12, delta_step3: 0.03");
  EXPECT_THAT(step(coarse, "step3"), HasSubstr("double: delta_step3 = 0.03 alone may change the energy by"));
  const nlohmann::json in_double = results("");
  for (const nlohmann::json* found : {&one, &two, &exact}) {
    EXPECT_LT(std::abs((*found)["e_corr"].get<double>() - expected), 1e-6 * std::abs(expected));
    EXPECT_NE((*found)["e_corr"], in_double["e_corr"]) << "small elements are multiplied in single";
  }
  EXPECT_NE(one["e_corr"], two["e_corr"]);
  EXPECT_NE(one["e_corr"], exact["e_corr"]);
  EXPECT_LT(std::abs(chosen["e_corr"].get<double>() - expected), 1e-3);

  EXPECT_THAT(call("check", "ri_mp2, file: system.h5, delta_step3: much"),
              ContainsRegex("job.yaml:1:[0-9]+: 'delta_step3' must be auto or a real number such as 0, got 'much'"));
}

/// Files in the output folder that no task has declared as results.
std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    names.push_back(entry.path().filename().string());
  }
  return names;
}

/// B has ten times the cap of 1 MiB.
TEST_F(RiMp2Job, AMemoryCapLeavesTheEnergyAsItIs) {
  const System system = testing::random_system(60, 100, 220);
  write(system);
  const double b_bytes = 8.0 * 60 * 100 * 220;
  for (const std::string precision :
       {"double", "single", "mgemm, always_split: true, delta: 0.3", "mgemm, always_split: true, delta: 1e9"}) {
    SCOPED_TRACE(precision);
    const nlohmann::json whole = results(", precision: " + precision);
    const nlohmann::json capped = results(", memory_cap: 1, precision: " + precision);
    const double expected = whole["e_corr"];
    EXPECT_NEAR(capped["e_corr"].get<double>(), expected, (precision == "double" ? 1e-12 : 2e-6) * std::abs(expected));
    EXPECT_EQ(capped["step4"]["form"], whole["step4"]["form"]);
    EXPECT_FALSE(whole.contains("stream"));
    EXPECT_FALSE(whole["step4"].contains("streamed_bytes"));
    EXPECT_LE(capped["stream"]["memory"].get<double>(), 1 << 20);
    EXPECT_EQ(capped["step3"]["streamed_bytes"].get<double>(), precision == "single" ? b_bytes / 2 : b_bytes);
    EXPECT_GT(capped["step4"]["streamed_bytes"].get<double>(), b_bytes);
    EXPECT_THAT(files_in(folder_.file("out")), ::testing::Not(::testing::Contains(HasSubstr("scratch"))));
  }
  EXPECT_EQ(call("run", "ri_mp2, generated: {occupied: 20, virtual: 80, auxiliary: 200}"), "");
  const auto energy = [&] {
    nlohmann::json all;
    std::ifstream(folder_.file("out/results.json")) >> all;
    return all["ri_mp2"]["e_corr"].get<double>();
  };
  const double expected = energy();
  EXPECT_EQ(call("run", "ri_mp2, memory_cap: 1, generated: {occupied: 20, virtual: 80, auxiliary: 200}"), "");
  EXPECT_NEAR(energy(), expected, 1e-9 * std::abs(expected)) << "the metric's condition is 1e5";
}

TEST_F(RiMp2Job, TheFolderOfTheScratchFileIsMade) {
  const System system = testing::random_system(60, 100, 220);
  write(system);
  const double expected = results("")["e_corr"];
  const std::string elsewhere = folder_.file("disk/of/mine");
  for (const std::string& scratch : {std::string("parts/of_b"), elsewhere}) {
    EXPECT_NEAR(results(", memory_cap: 1, scratch: " + scratch)["e_corr"].get<double>(), expected,
                1e-12 * std::abs(expected));
    EXPECT_THAT(files_in(std::filesystem::path(folder_.file("out")) / scratch), ::testing::IsEmpty());
  }
  results(", scratch: not_needed");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("out/not_needed")));
  for (const char* command : {"check", "run"}) {
    EXPECT_THAT(call(command, "ri_mp2, file: system.h5, scratch: " + file_ + "/below"),
                ContainsRegex("job.yaml:1:[0-9]+: 'scratch': .*system.h5 is not a folder that can be written to"));
    EXPECT_THAT(call(command, "ri_mp2, file: system.h5, scratch: parts/../../disk"),
                ContainsRegex("job.yaml:1:[0-9]+: 'scratch': 'parts/../../disk' is not in the output folder: give an "
                              "absolute path"));
  }
}

/// Of whatever task.
TEST_F(RiMp2Job, AnOutputIsNoScratchFile) {
  write(testing::random_system(60, 100, 220));
  const std::string of_another = "}, {task: ri_mp2_study, repeats: 1, files: [system.h5], csv: parts/ri_mp2.scratch";
  EXPECT_THAT(call("run", "ri_mp2, file: system.h5, memory_cap: 1, scratch: parts/." + of_another),
              ContainsRegex("it asks for the scratch file 'parts/./ri_mp2.scratch', which is an output of the job .at "
                            ".*job.yaml:1:"));
}

TEST_F(RiMp2Job, AStudyWithAMemoryCapLetsBPassThroughIt) {
  write(testing::random_system(60, 50, 220));
  const double b_bytes = 8.0 * 60 * 50 * 220;
  const std::string study = "ri_mp2_study, repeats: 1, files: [system.h5], deltas: [0.5], memory_cap: 1";
  EXPECT_EQ(call("run", study + ", scratch: parts"), "");
  nlohmann::json all;
  std::ifstream(folder_.file("out/results.json")) >> all;
  const nlohmann::json rows = all["ri_mp2_studies"]["ri_mp2_study"]["rows"];
  ASSERT_EQ(rows.size(), 3);
  for (const nlohmann::json& row : rows) {
    EXPECT_GT(row["streamed_bytes"].get<double>(), row["precision"] == "single" ? b_bytes : 2 * b_bytes);
  }
  EXPECT_LT(rows[1]["integral_max_error"].get<double>(), 1e-4);
  EXPECT_THAT(files_in(folder_.file("out/parts")), ::testing::IsEmpty());
  EXPECT_THAT(call("check", study + ", target_errors: [1.0e-6]"),
              ContainsRegex("'target_errors': with a memory_cap B may not be in memory"));
  EXPECT_THAT(call("check", study + ", scratch: ../disk"), ContainsRegex("'scratch': '../disk' is not in the output"));
}

TEST_F(RiMp2Job, ACapOrAFileThatWillNotDoIsSaid) {
  write(testing::random_system(6, 300, 230));  // rows of B of two orbitals, and the integrals of a pair: 1.7 MiB
  EXPECT_THAT(
      call("run", "ri_mp2, file: system.h5, memory_cap: 1"),
      ContainsRegex("a memory_cap of 1048576 bytes does not hold one pair of occupied orbitals: the smallest that "
                    "does is [0-9]+ bytes .2 MiB."));
  EXPECT_EQ(call("run", "ri_mp2, file: system.h5, memory_cap: 2"), "");
  const std::string folder = folder_.file("out");
  const testing::FileSizeLimit full(1 << 20);
  EXPECT_THAT(call("run", "ri_mp2, file: system.h5, memory_cap: 2"),
              HasSubstr("cannot be written, as it needs 3312000 bytes"));
  EXPECT_THAT(files_in(folder), ::testing::Not(::testing::Contains(HasSubstr("scratch"))));
}

TEST_F(RiMp2Job, ExtentsThatDoNotFitAreNamed) {
  const System good = testing::random_system(3, 4, 6);
  write(good, {{"P_Q", {4, 9}}});
  expect_refused("P_Q", "must have the shape .6, 6., to match ia_P, but has .4, 9.", true);
  write(good, {{"eps_occ", {1}}});
  expect_refused("eps_occ", "must have the shape .3., to match ia_P, but has .1.", true);
  write(good, {{"eps_vir", {2}}});
  expect_refused("eps_vir", "must have the shape .4., to match ia_P, but has .2.", true);
  write(good, {{"ia_P", {12, 6}}});
  expect_refused("ia_P", "must have 3 dimensions, but has 2", true);
  write(good, {{"ia_P", {0, 4, 6}}, {"eps_occ", {0}}});
  expect_refused("ia_P", "a system needs at least one occupied, virtual and auxiliary function; got 0, 4 and 6", true);
  for (const char* missing : {"ia_P", "P_Q", "eps_occ", "eps_vir"}) {
    write(good, {}, missing);
    EXPECT_THAT(
        call("check", "ri_mp2, file: system.h5"),
        ContainsRegex(std::string("job.yaml:1:[0-9]+: .*system.h5: has no dataset '") + missing + "'; it has "));
  }
}

TEST_F(RiMp2Job, NumbersThatAreNotFiniteAreNamed) {
  const System good = testing::random_system(3, 4, 6);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  System bad = good;
  bad.ia_p[(2 * 4 + 1) * 6 + 5] = nan;
  write(bad);
  expect_refused("ia_P", "element .2, 1, 5. is nan, must be finite", false);
  bad = good;
  bad.p_q[3 * 6 + 2] = infinity;
  write(bad);
  expect_refused("P_Q", "element .3, 2. is inf, must be finite", false);
  bad = good;
  bad.eps_occupied[1] = nan;
  write(bad);
  expect_refused("eps_occ", "element .1. is nan, must be finite", true);
  bad = good;
  bad.eps_virtual[3] = -infinity;
  write(bad);
  expect_refused("eps_vir", "element .3. is -inf, must be finite", true);
}

TEST_F(RiMp2Job, WhatHasNoEnergyIsNamed) {
  const System good = testing::random_system(3, 4, 6);
  System bad = good;
  bad.eps_occupied = {-2, -1, -0.5};
  bad.eps_virtual[2] = -0.5;
  write(bad);
  expect_refused("eps_vir",
                 "the gap must be positive: the highest occupied orbital is at -0.5 Hartree, the lowest "
                 "virtual one at -0.5",
                 true);
  bad = good;
  bad.p_q[1 * 6 + 4] += 0.25;
  write(bad);
  expect_refused("P_Q", "the metric .P.Q. must be symmetric: elements .4, 1. and .1, 4. differ by 0.25", false);
  bad = good;
  for (std::size_t q = 0; q < 6; ++q) bad.p_q[6 + q] = bad.p_q[q];  // two functions that are one
  for (std::size_t p = 0; p < 6; ++p) bad.p_q[6 * p + 1] = bad.p_q[6 * p];
  write(bad);
  expect_refused(
      "P_Q", "the metric .P.Q. is not positive definite to working precision: .* remove linearly dependent functions",
      false);
}

}  // namespace
}  // namespace quadrille
