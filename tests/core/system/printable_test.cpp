#include "core/printable.h"
#include "core/error.h"
#include "core/system/log.h"

#include <gtest/gtest.h>

namespace quadrille {
namespace {

TEST(Printable, ControlCharactersAreEscapedAndNothingElse) {
  EXPECT_EQ(printable("a\nb\tc\x1b[31m\x7f\r"), "a\\nb\\tc\\x1b[31m\\x7f\\x0d");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"), "\\x9b");
  const std::string plain = "kappa_c = 0.1570 \\n é \xe2\x82\xac \xc2\xa0 \xff \xc2";
  EXPECT_EQ(printable(plain), plain);
  EXPECT_EQ(printable("a\nb\x1b", LineFeeds::kept), "a\nb\\x1b");
}

TEST(Printable, ErrorsShowNamesOfFilesOnOneLine) {
  const Error error(ErrorCode::file, std::string("bad word 'x\0y'", 14),
                    {.file = "a\n\x1b.lime", .record = "1 (\x07)"});
  EXPECT_STREQ(error.what(), "a\\n\\x1b.lime: record 1 (\\x07): bad word 'x\\x00y'");
  EXPECT_EQ(error.where().file, "a\n\x1b.lime") << "the name itself stays as it is";
}

TEST(Printable, LinesOfTheLogAreEscaped) {
  ::testing::internal::CaptureStderr();
  log().warn("{}: the first is used", "a\n\x1b[2J.lime");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "quadrille: warning: a\\n\\x1b[2J.lime: the first is used\n");
}

}  // namespace
}  // namespace quadrille
