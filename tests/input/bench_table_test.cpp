// The rows of benchmarks, as the terminal shows them.
#include "input/bench/table.h"

#include <gtest/gtest.h>

#include <sstream>

namespace quadrille::bench {
namespace {

/// The columns after the form: bytes/site, us, GFLOP/s, GB/s, fraction.
std::vector<std::string> numbers_of(const Row& row) {
  const Table table{{.read = 20, .copy = 10, .triad = 12}, {row}};
  std::istringstream words(text(table, row));
  std::vector<std::string> columns;
  for (std::string word; words >> word;) columns.push_back(word);
  return {columns.end() - 5, columns.end()};
}

Row counted() {
  Row row;
  row.kernel = "dslash";
  row.precision = "double";
  row.reconstruct = 18;
  row.dims = {4, 4, 4, 8};
  row.sites = 1000;
  row.bytes_per_site = 2000;
  row.flops_per_site = 1320;
  row.seconds = 1e-3;
  return row;
}

using Columns = std::vector<std::string>;

TEST(BenchTable, PrintsADashForWhatARowDoesNotCount) {
  EXPECT_EQ(numbers_of(counted()), (Columns{"2000", "1000.0", "1.32", "2.00", "0.100"}));
  Row no_flops = counted();
  no_flops.flops_per_site = 0;
  EXPECT_EQ(numbers_of(no_flops), (Columns{"2000", "1000.0", "-", "2.00", "0.100"}));
  Row no_bytes = counted();
  no_bytes.bytes_per_site = 0;
  EXPECT_EQ(numbers_of(no_bytes), (Columns{"-", "1000.0", "1.32", "-", "-"}));
}

TEST(BenchTable, TakesTheCopyRateAsTheCeilingOfFieldAlgebraThatWrites) {
  Row copies = counted();
  copies.copies = true;
  EXPECT_EQ(numbers_of(copies).back(), "0.200");
}

}  // namespace
}  // namespace quadrille::bench
