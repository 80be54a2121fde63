// The largest of many values, and the first item that has it.
#pragma once

#include "core/host_device.h"

#include <cmath>
#include <cstdint>

namespace quadrille {

/// A NaN beats every number; of equal values the item of lowest number counts, so that no order of the items matters.
struct MaxLoc {
  double value = 0;
  std::int64_t item = 0;

  QUADRILLE_HOST_DEVICE void reduce(double other, std::int64_t other_item) {
    const bool nan = value != value, other_nan = other != other;
    const bool larger = !nan && (other_nan || other > value);
    const bool same = other == value || (nan && other_nan);
    if (larger || (same && other_item < item)) {
      value = other;
      item = other_item;
    }
  }
};

}  // namespace quadrille
