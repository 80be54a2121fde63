// E <- Q2 E: the back-transformation by the reflections of bulge chasing.
#pragma once

#include "modules/eigen/cuda/bulge/bulge.h"

#include <cstdint>

namespace quadrille::eigen {

/// E: n x count. v and tau: what chase_bulges() leaves. Takes as much memory as v, or a group's diamonds if that is
/// more.
template <class T>
void apply_q2(std::int64_t n, const T* v, const T* tau, T* e, std::int64_t lde, std::int64_t count);

}  // namespace quadrille::eigen
