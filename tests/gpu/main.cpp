// Runs the tests with a usable GPU; elsewhere says why it does not, in the words by which ctest knows a skipped test.
#include "core/backend/backend.h"

#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  const std::string trouble = quadrille::backend_trouble("cuda");
  if (!trouble.empty() && !::testing::GTEST_FLAG(list_tests)) {
    std::printf("[  SKIPPED ] no test of the GPU: %s\n", trouble.c_str());
    return 0;
  }
  return RUN_ALL_TESTS();
}
