#include "core/system/csv.h"

#include <gtest/gtest.h>

#include <limits>

namespace quadrille {
namespace {

using Json = nlohmann::ordered_json;

TEST(Csv, RowsAreLinesOfCells) {
  const Json rows = {{{"name", "water"}, {"n", 3}, {"error", 1e-10}, {"held", true}},
                     {{"name", nullptr},
                      {"n", std::numeric_limits<double>::quiet_NaN()},
                      {"error", std::numeric_limits<double>::infinity()},
                      {"held", false}}};
  EXPECT_EQ(csv_of_rows(rows), "name,n,error,held\nwater,3,1e-10,true\n,,,false\n");
  EXPECT_EQ(csv_of_rows(Json::array()), "");
}

TEST(Csv, TextsThatNeedItStandInQuotes) {
  const Json rows = {{{"a,b", "one, two"}, {"c", "say \"so\""}, {"d", "two\nlines"}, {"e", "plain text"}}};
  EXPECT_EQ(csv_of_rows(rows), "\"a,b\",c,d,e\n\"one, two\",\"say \"\"so\"\"\",\"two\nlines\",plain text\n");
}

}  // namespace
}  // namespace quadrille
