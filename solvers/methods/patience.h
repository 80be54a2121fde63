// How long a method whose residual may stay on a plateau goes on without a new low.
#pragma once

#include "core/field/field.h"

#include <algorithm>
#include <cmath>

namespace quadrille {

/// Iterations in which |r| must reach a new low: of a singular system it never does, near a critical mass the search
/// may be on a plateau. At worst 263 iterations of BiCGstab were seen on 8^3 x 16, where 316 are allowed; the number of
/// slow modes grows with the volume. Beyond the critical mass there is no such bound: Stopping says what other solves
/// have needed.
inline int patience(const FieldDesc& desc) {
  constexpr double least = 224, for_root_of_volume = 3.5;
  double volume = 1;
  for (const int extent : desc.lattice->global_dims()) volume *= extent;
  return int(std::max(least, for_root_of_volume * std::sqrt(volume)));
}

}  // namespace quadrille
