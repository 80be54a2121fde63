// Pairs that mix too much to be told from each other one by one.
#pragma once

#include "modules/eigen/pairs/pair_defects.h"

#include <cstdint>
#include <vector>

namespace quadrille::eigen {

/// A pair alone, or several.
template <class T>
struct Cluster {
  std::vector<std::int64_t> members;  ///< in rising order, counted from the first active pair
  std::vector<T> vectors;             ///< members x members: those of its own problem, the members' of W and G
};

/// Each active pair is in one of them. `values`: all eigenvalues.
template <class T>
std::vector<Cluster<T>> clusters_of(const View<T>& view, const std::vector<double>& values);

/// Solves the problem of each cluster, turns W, G and the active vectors X (n x active.count) to its vectors, and sets
/// the active of the `values`. False, with everything as it was, where X has lost its rank.
template <class T>
bool turn_clusters(View<T>& view, std::vector<Cluster<T>>& clusters, std::vector<double>& values, T* x);

}  // namespace quadrille::eigen
