// The results of the task `eigen`, and its file.
#pragma once

#include "modules/eigen/problem.h"
#include "modules/shared/plugin/task.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille::eigen {

/// What every solver tells: `count`: of vectors.
template <class T>
nlohmann::ordered_json results_of(const TaskContext& context, const Pairs<T>& pairs, bool generalized,
                                  std::int64_t count, double bytes, double seconds);

/// An entry for each step.
nlohmann::ordered_json refinements_json(const std::vector<Refinement>& steps);

/// Writes the file that `save` names, if any, on rank 0. `vectors(columns)`: those vectors, one after another; called
/// on all ranks; empty: there are none.
template <class T>
void save(const TaskContext& context, const Pairs<T>& pairs,
          const std::function<std::vector<T>(IndexRange columns)>& vectors);

/// A line in the log.
template <class T>
void tell(const TaskContext& context, const Pairs<T>& pairs, double seconds);

}  // namespace quadrille::eigen
