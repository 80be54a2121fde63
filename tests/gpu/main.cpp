// Runs the tests where there is a usable GPU; elsewhere one test alone, which says why there is none.
#include "core/backend/backend.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

const std::string& trouble() {
  static const std::string found = quadrille::backend_trouble("cuda");
  return found;
}

bool gpu_is_required() {
  const char* set = std::getenv("QUADRILLE_REQUIRE_GPU");
  return set && std::string(set) == "1";
}

TEST(Gpu, Answers) {
  if (trouble().empty()) return;
  if (gpu_is_required()) FAIL() << "QUADRILLE_REQUIRE_GPU=1, but no GPU can be used: " << trouble();
  GTEST_SKIP() << "no test of the GPU: " << trouble();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--whether-a-gpu-answers") {
    std::printf("%s\n", trouble().empty() ? "yes" : trouble().c_str());
    return trouble().empty() ? 0 : 1;
  }
  ::testing::InitGoogleTest(&argc, argv);
  if (!::testing::GTEST_FLAG(list_tests) && !trouble().empty()) ::testing::GTEST_FLAG(filter) = "Gpu.Answers";
  return RUN_ALL_TESTS();
}
