// Natural order, and the lists of configurations that jobs stand for.
#include "input/ensemble/configurations.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>

namespace quadrille {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(NaturalOrder, NumbersCompareAsNumbers) {
  std::vector<std::string> names = {"b_1.lime",  "b_2.lime",    "b_10.lime",  "b_10_1.lime", "b_10_2.lime",
                                    "b_11.lime", "b_0100.lime", "b_101.lime", "c",           "c1",
                                    "c1a",       "c02",         "c10"};
  const std::vector<std::string> sorted = names;
  std::mt19937_64 random(testing::next_seed());
  std::shuffle(names.begin(), names.end(), random);
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, sorted);
  for (const std::string& a : names) EXPECT_FALSE(natural_less(a, a));
  EXPECT_TRUE(natural_less("a01", "a1"));  // a total order
  EXPECT_FALSE(natural_less("a1", "a01"));
  EXPECT_TRUE(natural_less("99999999999999999999998", "99999999999999999999999"));
}

class Configurations : public ::testing::Test {
 protected:
  void touch(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(folder_.file(name)).parent_path());
    std::ofstream(folder_.file(name)) << name;
  }

  std::vector<Configuration> of(const std::string& files) {
    std::ofstream(folder_.file("job.yaml")) << "gauge: {files: " << files << "}\n";
    std::vector<Error> found;
    const Job job = read_job(folder_.file("job.yaml"), {}, found);
    EXPECT_TRUE(found.empty()) << found.front().what();
    errors_.clear();
    return list_configurations(job, folder_.file("job.out"), errors_);
  }

  static std::vector<std::string> files(const std::vector<Configuration>& all) {
    std::vector<std::string> out;
    for (const Configuration& one : all) out.push_back(one.file);
    return out;
  }

  testing::TemporaryFolder folder_;
  std::vector<Error> errors_;
};

TEST_F(Configurations, PatternsStandForTheirFilesInNaturalOrder) {
  for (const char* name : {"c/b_10.lime", "c/b_9.lime", "c/b_100.lime", "c/a.lime", "d/x[1].lime"}) touch(name);
  std::filesystem::create_directories(folder_.file("c/b_folder.lime"));
  EXPECT_THAT(files(of("c/b_*.lime")), ElementsAre("c/b_9.lime", "c/b_10.lime", "c/b_100.lime"));
  EXPECT_THAT(files(of("['c/b_1?.lime', c/a.lime, 'd/x[1].lime']")),
              ElementsAre("c/b_10.lime", "c/a.lime", "d/x[1].lime"));
  EXPECT_THAT(files(of("[missing.lime, c/a.lime]")), ElementsAre("missing.lime", "c/a.lime"));
  EXPECT_TRUE(errors_.empty());
}

TEST_F(Configurations, FoldersHaveNamesOfTheirOwn) {
  for (const char* name : {"c/a.lime", "d/a.lime", "d/b.lime"}) touch(name);
  const auto all = of("[c/a.lime, d/a.lime, d/b.lime]");
  ASSERT_EQ(all.size(), 3u);
  EXPECT_THAT(all[0].name, HasSubstr("a.lime."));
  EXPECT_THAT(all[1].name, HasSubstr("a.lime."));
  EXPECT_NE(all[0].name, all[1].name);
  EXPECT_EQ(all[2].name, "b.lime");
  EXPECT_EQ(folder_of(all[2]), "configurations/b.lime");
}

TEST_F(Configurations, NothingThatMatchesAndTwinsAreErrors) {
  for (const char* name : {"c/a.lime", "c/b.lime"}) touch(name);
  std::filesystem::create_symlink(folder_.file("c/a.lime"), folder_.file("link.lime"));
  (void)of("[nothing_*.lime, c/a.lime]");
  ASSERT_EQ(errors_.size(), 1u);
  EXPECT_THAT(errors_[0].what(), HasSubstr("job.yaml:1:17: 'gauge.files': no file matches"));
  for (const char* again : {"link.lime", "c/../c/a.lime", "'c/*.lime'"}) {
    (void)of(std::string("[c/a.lime, ") + again + "]");
    ASSERT_EQ(errors_.size(), 1u) << again;
    EXPECT_THAT(errors_[0].what(), HasSubstr("is the same file as 'c/a.lime'"));
    EXPECT_EQ(errors_[0].where().column, 27);
  }
}

}  // namespace
}  // namespace quadrille
