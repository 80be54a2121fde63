// Matrices of one layout in another, where ranks have whole columns. Collective; no memory: fails on all.
#pragma once

#include "core/comm/communicator.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/layout.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

/// Bytes that a rank takes for what travels, about.
constexpr double redistribution_bytes = double(3 << 26);

/// This rank's columns, in `columns`, of a Hermitian matrix that lies in `layout`, of which this rank's part has
/// leading dimension ld. `triangle`: the half that counts; it becomes the lower one.
template <class T>
std::vector<T> columns_of_part(const Communicator& ranks, const Layout& layout, Triangle triangle, const T* part,
                               std::int64_t ld, const Layout& columns);

/// Columns first, first + 1, ... of a matrix in `layout`, of which this rank's part has leading dimension ld, become
/// vectors 0, 1, ... count - 1, which lie in `columns` as far as columns_before() goes.
template <class T>
void vectors_to_part(const Communicator& ranks, const Layout& columns, const T* vectors, std::int64_t first,
                     std::int64_t count, const Layout& layout, T* part, std::int64_t ld);

}  // namespace quadrille::eigen
