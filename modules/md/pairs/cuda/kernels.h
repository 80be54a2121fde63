// Between forces.cpp and kernels.cu.
#pragma once

#include "modules/md/pairs/pair_problem.h"
#include "modules/md/pairs/rank_shares.h"

namespace quadrille::md {

/// How the particles of a group are shared: candidates of the tuner, which give the same bits.
constexpr int launch_shapes = 2;
constexpr const char* launch_shape_names[launch_shapes] = {"a particle a thread", "two particles a thread"};

/// Asks for one pass, of groups of chunk_size slots; pointers are the device's. Errors: ErrorCode::unsupported for a
/// method the device has not.
void launch_pairs(const PairForm& form, const PairProblem<float>& problem, const PairSums& out, GroupRange groups,
                  int shape);
void launch_pairs(const PairForm& form, const PairProblem<double>& problem, const PairSums& out, GroupRange groups,
                  int shape);

}  // namespace quadrille::md
