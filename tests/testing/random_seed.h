// Fresh random inputs: a new seed in every run, printed, and fixed by QUADRILLE_SEED to repeat a failure.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

namespace quadrille::testing {

inline std::uint64_t base_seed() {
  static const std::uint64_t seed = [] {
    const char* given = std::getenv("QUADRILLE_SEED");
    const std::uint64_t chosen = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device{}();
    std::printf("QUADRILLE_SEED=%llu\n", static_cast<unsigned long long>(chosen));
    return chosen;
  }();
  return seed;
}

/// A different seed at each call, from the printed one and the name of the test that runs: the same whether it runs
/// alone or after others.
inline std::uint64_t next_seed() {
  static std::string last;
  static std::uint64_t calls = 0;
  const ::testing::TestInfo* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const std::string name = test == nullptr ? "" : std::string(test->test_suite_name()) + "." + test->name();
  if (name != last) calls = 0;
  last = name;
  std::uint64_t hash = 0xCBF29CE484222325u;  // FNV-1a
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001B3u;
  return (base_seed() ^ hash) * 0x9E3779B97F4A7C15u + ++calls;
}

inline std::mt19937_64 fresh_generator() { return std::mt19937_64(next_seed()); }

}  // namespace quadrille::testing
