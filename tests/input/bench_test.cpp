// Benchmarks against the memory of the machine they run on: no kernel moves its bytes faster than memory can.
#include "input/bench/bench.h"

#include "core/backend/backend.h"
#include "core/host_field.h"
#include "tests/input/lime_testing.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <utility>

namespace quadrille {
namespace {

using Json = nlohmann::json;
using testing::read_bytes;
using testing::TemporaryFolder;

/// Above 1 by what two measurements of one machine may differ. Not to be raised: a kernel that beats it does not move
/// the bytes that it claims.
constexpr double highest_fraction = 1.02;
constexpr Dims lattice = {24, 24, 24, 48};
constexpr std::int64_t half_volume = volume(lattice) / 2;

Json measured(BenchOptions options) {
  const TemporaryFolder folder;
  options.dims = {lattice};
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
  BenchOptions options;
  options.what = "dslash";
  std::tie(options.precision, options.reconstruct) = GetParam();
  // One call reads links that the next one reads again: these bytes alone must not fit.
  const double links = 8 * int(*options.reconstruct) * double(number_bytes(*options.precision)) * half_volume;
  const double spinors = 2 * 24 * double(number_bytes(*options.precision)) * half_volume;
  if (links + spinors < 2 * double(cpu_backend().cache_bytes()))
    GTEST_SKIP() << "the cache is too large for the lattice";
  const Json row = fastest_row(options);
  EXPECT_LE(row["fraction"], highest_fraction) << row.dump(1);
  EXPECT_GT(row["fraction"], 0) << row.dump(1);
}

std::string name(const ::testing::TestParamInfo<std::pair<Precision, Reconstruct>>& info) {
  return to_string(info.param.first) + "_" + to_string(info.param.second);
}

// The most and the least numbers a link, and each precision.
INSTANTIATE_TEST_SUITE_P(Forms, MemoryBound,
                         ::testing::Values(std::pair{Precision::Double, Reconstruct::R18},
                                           std::pair{Precision::Single, Reconstruct::R12},
                                           std::pair{Precision::Half, Reconstruct::R8}),
                         name);

}  // namespace
}  // namespace quadrille
