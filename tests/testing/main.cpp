// Runs the cases of a test program, or a shard of them (GTEST_TOTAL_SHARDS), and says how many there were: run-tests
// adds them up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

namespace {

class Counts final : public ::testing::EmptyTestEventListener {
  void OnTestPartResult(const ::testing::TestPartResult& result) override {
    if (result.skipped()) std::printf("skipped: %s\n", result.message());
  }
  void OnTestProgramEnd(const ::testing::UnitTest& all) override {
    std::printf("cases: %d passed, %d failed, %d skipped\n", all.successful_test_count(), all.failed_test_count(),
                all.skipped_test_count());
  }
};

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  ::testing::UnitTest::GetInstance()->listeners().Append(new Counts);
  return RUN_ALL_TESTS();
}
