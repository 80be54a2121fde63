// How much memory there is, and the error for more.
#include "core/system/memory.h"

#include "core/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace quadrille {
namespace {

using ::testing::ContainsRegex;

TEST(Memory, SomeIsFreeAndNoMoreThanThereIs) {
  const Memory here = memory_here();
  EXPECT_GT(here.free, 1 << 20);
  EXPECT_LE(here.free, here.total);
  EXPECT_LT(here.total, 1e18);
}

TEST(Memory, TextsHaveUnits) {
  EXPECT_EQ(bytes_text(12), "12 bytes");
  EXPECT_EQ(bytes_text(1536), "1.5 KiB");
  EXPECT_EQ(bytes_text(38.0 * (1 << 20)), "38 MiB");
  EXPECT_EQ(bytes_text(1.5 * 1024 * 1024 * 1024), "1.5 GiB");
}

TEST(Memory, TheErrorSaysHowMuchIsNeededAndFree) {
  EXPECT_NO_THROW(require_memory(1 << 20, "a little"));
  try {
    require_memory(1e18, "a field");
    FAIL() << "1e18 bytes";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_THAT(error.what(), ContainsRegex("^not enough memory: a field needs 888 PiB, [0-9.]+ [KMGT]iB are free$"));
  }
}

}  // namespace
}  // namespace quadrille
