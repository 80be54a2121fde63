// Steps 3 and 4 and the sums on a GPU. In builds with CUDA alone: see with_cuda() in core/backend/of_backend.h.
#pragma once

#include "modules/ri_mp2/energy.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace quadrille::ri_mp2 {

/// Steps 3 and 4, and the sums, of a system that is checked; `root` is (P|Q)^{-1/2}, energy.batch is set. Overwrites
/// energy.step3 and energy.step4 and adds to the sums. B, with its parts for mgemm, and the integrals of one batch stay
/// in the device's memory; a batch is copied to the host only for who sees it. Every step is waited for, and its
/// seconds count until then. Errors: those of correlation_energy.
void sum_on_device(const System& system, const Options& options, const std::vector<double>& root, Energy& energy);

/// The bytes of the device's memory through which B passes; nothing where it and all that is made of it fit into the
/// memory cap of the options, or without one into what is free.
std::optional<std::int64_t> stream_cap_there(const System& system, const Options& options, std::int64_t batch);

/// sum_on_device() of a B that stays in the host's memory; energy.batch becomes that of the plan (stream/plan.h).
void sum_streamed_there(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap,
                        Energy& energy);

/// Step 3 there, with B copied to the host.
std::vector<double> make_b_on_device(const System& system, const Options& options, const std::vector<double>& root,
                                     Step& step);

/// sum_batch() of integrals in the device's memory: the same bits in every run. Waits. Errors: ErrorCode::unsupported
/// for more than 2^30 pairs of occupied orbitals or 2^20 virtual ones.
template <class T>
SpinSums sum_batch_on_device(const System& system, const Batch<T>& batch);

}  // namespace quadrille::ri_mp2
