// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, SC'11, doi:10.1145/2063384.2063405).
//
// A draw is a pure function of (seed, purpose, global site, index): the integers and uniforms are the same bits on
// every machine, for any threads and ranks. Normal numbers agree to rounding (they go through log and sincos).
#pragma once

#include "core/host_device.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

namespace quadrille {

/// What random numbers are for: streams of different purpose never share a number. Values are part of what a seed
/// means.
enum class RandomPurpose : std::uint32_t {
  Test = 0,
  WeakLinks = 1,
  HotLinks = 2,
  GaussianSpinor = 3,
  GaugeTransformation = 4,
  Sweep = 5,
  Heatbath = 6,
  SaltedMatrix = 7,
  GeneratedSystem = 8,
  Sample = 9,
  RandomBlocks = 10,
  Thermostat = 11,
  NoiseSource = 16
};

/// Ten rounds of Philox4x32.
constexpr std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t(0xD2511F53u) * counter[0];
    const std::uint64_t b = std::uint64_t(0xCD9E8D57u) * counter[2];
    counter = {std::uint32_t(b >> 32) ^ counter[1] ^ key[0], std::uint32_t(b),
               std::uint32_t(a >> 32) ^ counter[3] ^ key[1], std::uint32_t(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// The seed of number `number` of a sequence of steps (the sweeps of a Markov chain) that share a seed.
constexpr std::uint64_t step_seed(std::uint64_t seed, RandomPurpose purpose, std::uint64_t number) {
  const auto block = philox4x32({std::uint32_t(number), std::uint32_t(number >> 32), std::uint32_t(purpose), 0},
                                {std::uint32_t(seed), std::uint32_t(seed >> 32)});
  return std::uint64_t(block[1]) << 32 | block[0];
}

/// The third word of a counter: what a number is for, and which of the site's streams (below 2^24) it belongs to.
constexpr std::uint32_t random_stream(RandomPurpose purpose, std::uint32_t stream) {
  return std::uint32_t(purpose) | stream << 8;
}

/// The random numbers of one site, drawn one after the other.
class SiteRandom {
 public:
  QUADRILLE_HOST_DEVICE SiteRandom(std::uint64_t seed, RandomPurpose purpose, std::int64_t global_site,
                                   std::uint32_t stream = 0)
      : key_{std::uint32_t(seed), std::uint32_t(seed >> 32)},
        site_(std::uint64_t(global_site)),
        purpose_(random_stream(purpose, stream)) {}

  QUADRILLE_HOST_DEVICE std::uint32_t integer() {
    if (used_ == 4) {
      block_ = philox4x32({std::uint32_t(site_), std::uint32_t(site_ >> 32), purpose_, draws_++}, key_);
      used_ = 0;
    }
    return block_[std::size_t(used_++)];
  }
  /// Uniform in [0, 1), 53 bits.
  QUADRILLE_HOST_DEVICE double uniform() {
    const std::uint64_t high = integer() >> 5, low = integer() >> 6;
    return double(high << 26 | low) * 0x1p-53;
  }
  /// Mean 0, variance 1 (Box and Muller).
  QUADRILLE_HOST_DEVICE double normal() {
    if (have_second_) {
      have_second_ = false;
      return second_;
    }
    const double radius = ::sqrt(-2 * ::log1p(-uniform()));
    const double angle = 2 * std::numbers::pi * uniform();
    second_ = radius * ::sin(angle);
    have_second_ = true;
    return radius * ::cos(angle);
  }

 private:
  std::array<std::uint32_t, 2> key_;
  std::uint64_t site_;
  std::uint32_t purpose_, draws_ = 0;
  std::array<std::uint32_t, 4> block_{};
  int used_ = 4;
  double second_ = 0;
  bool have_second_ = false;
};

}  // namespace quadrille
