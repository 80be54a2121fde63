// Fresh random inputs: a new seed in every run, printed, and fixed by QUADRILLE_SEED to repeat a failure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>

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

/// A different seed at each call, all from the printed one.
inline std::uint64_t next_seed() {
  static std::uint64_t calls = 0;
  return base_seed() * 0x9E3779B97F4A7C15u + ++calls;
}

}  // namespace quadrille::testing
