// The seconds that steps take.
#pragma once

#include <chrono>

namespace quadrille::ri_mp2 {

/// Seconds since some moment.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace quadrille::ri_mp2
