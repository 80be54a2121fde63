// Benchmarks against the memory of the machine they run on: no kernel moves its bytes faster than memory can.
#include "input/bench/bench.h"

#include "core/backend/backend.h"
#include "tests/input/files/lime_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <utility>

namespace quadrille {
namespace {

using Json = nlohmann::json;
using testing::read_bytes;
using testing::TemporaryFolder;

/// Above 1 by what two measurements of one machine may differ. Not to be raised: a kernel that beats it does not move
/// the bytes that it claims.
constexpr double highest_fraction = 1.02;
Json measured(const BenchOptions& chosen) {
  const TemporaryFolder folder;
  BenchOptions options = chosen;
  options.json = folder.file("bench.json");
  options.memory_mib = int(std::max<std::size_t>(128, 4 * cpu_backend().cache_bytes() >> 20));
  std::ostringstream table;
  run_bench(options, table);
  return Json::parse(read_bytes(options.json));
}

/// The row with the highest fraction of three measurements at most: the first whose fractions are all possible counts,
/// as another process may have slowed the memory's turn.
Json fastest_row(const BenchOptions& options) {
  Json fastest;
  for (int turn = 0; turn < 3; ++turn) {
    const Json rows = measured(options)["kernels"];
    fastest = *std::max_element(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
      return a["fraction"].get<double>() < b["fraction"].get<double>();
    });
    if (fastest["fraction"] <= highest_fraction) break;
  }
  return fastest;
}

class MemoryBound : public ::testing::TestWithParam<std::pair<Precision, Reconstruct>> {};

TEST_P(MemoryBound, HoppingTermsMoveTheirBytesNoFasterThanMemoryDoes) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitizer's checks are measured, not memory";
#endif
  const auto [precision, reconstruct] = GetParam();
  // Every call reads all links: what one call moves must not fit. Three times the cache, where the test's time allows.
  const double call_bytes = (8.0 * int(reconstruct) + 48) * double(number_bytes(precision));
  const double cache = double(cpu_backend().cache_bytes());
  const auto bytes = [&](int t) { return call_bytes * 24 * 24 * 24 * t / 2; };
  int t = 2;
  while (t < 48 && bytes(t) < 3 * cache) t += 2;
  if (bytes(t) < 2 * cache) GTEST_SKIP() << "the cache is too large for a lattice of 24 24 24 48";
  BenchOptions options;
  options.what = "dslash";
  options.dims = {{24, 24, 24, t}};
  options.precision = precision;
  options.reconstruct = reconstruct;
  const Json row = fastest_row(options);
  EXPECT_LE(row["fraction"], highest_fraction) << row.dump(1);
  EXPECT_GT(row["fraction"], 0) << row.dump(1);
}

std::string name(const ::testing::TestParamInfo<std::pair<Precision, Reconstruct>>& info) {
  return to_string(info.param.first) + "_" + to_string(info.param.second);
}

// The most and the least numbers per link, and each precision.
INSTANTIATE_TEST_SUITE_P(Forms, MemoryBound,
                         ::testing::Values(std::pair{Precision::Double, Reconstruct::R18},
                                           std::pair{Precision::Single, Reconstruct::R12},
                                           std::pair{Precision::Half, Reconstruct::R8}),
                         name);

}  // namespace
}  // namespace quadrille
