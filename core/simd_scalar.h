// core/simd.h for code that works on one site at a time: a vector of one lane is a number.
#pragma once

#include "core/host_device.h"

#define QUADRILLE_INLINE QUADRILLE_HOST_DEVICE

namespace quadrille::simd::inline QUADRILLE_ISA {

template <class T, int V>
using Vec = T;

template <class A, class T, int V>
struct Widened {
  static constexpr int parts = 1;
  A part[1];
};

template <class A, class T, int V>
QUADRILLE_INLINE Widened<A, T, V> widened(T v) {
  return {{A(v)}};
}

}  // namespace quadrille::simd::inline QUADRILLE_ISA
