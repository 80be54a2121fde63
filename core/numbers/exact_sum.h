// Sums in double whose bits do not depend on the order of the terms: of threads, blocks of a device, or ranks.
//
// A term is rounded to a multiple of a coarse quantum, and what is left of it to one of a fine quantum; the multiples
// are summed apart from each other. Sums of multiples of a quantum q are exact below 2^53 q, so the quanta follow from
// how many terms there are and how large they get. What is lost is half a fine quantum a term at most.
#pragma once

#include "core/host_device.h"

#include <cmath>

namespace quadrille {

/// 1.5 x 2^52 times the quanta: what is added to a number and subtracted again to round it to a multiple.
struct ExactQuanta {
  double coarse, fine;

  /// For sums of up to `terms` terms, 16 or more, none larger than `largest` (others make the sum inexact, not wrong).
  static ExactQuanta of(double terms, double largest) {
    const auto exponent = [](double most) { return std::ilogb(most) + 1 - 53; };  // of a quantum, for sums up to `most`
    const int coarse = exponent(terms * largest);
    const int fine = exponent(terms * std::ldexp(0.5, coarse));
    return {std::ldexp(1.5, coarse + 52), std::ldexp(1.5, fine + 52)};
  }
};

struct ExactSum {
  double coarse = 0, fine = 0;

  QUADRILLE_HOST_DEVICE void add(double term, const ExactQuanta& quanta) {
    const double multiple = (term + quanta.coarse) - quanta.coarse;
    coarse += multiple;
    fine += ((term - multiple) + quanta.fine) - quanta.fine;
  }
  double value() const { return coarse + fine; }
};

}  // namespace quadrille
