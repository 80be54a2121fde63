// Steps 3 and 4 on the CPU with B on a disk: what stands in for step3.h and for batches that are all in memory.
#pragma once

#include "modules/ri_mp2/ri_mp2.h"
#include "modules/ri_mp2/stream/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

/// The bytes through which B passes, on the CPU; nothing where it and all that is made of it fit into the memory cap of
/// the options. `batch`: occupied orbitals of a batch of a B that is all in memory.
std::optional<std::int64_t> stream_cap_here(const System& system, const Options& options, std::int64_t batch);

/// Whether B need not be all in memory: for all but mgemm with a sample.
bool is_streamable(const Options& options);
/// Errors: ErrorCode::invalid_input where it must.
void require_streamable(const Options& options);

/// The plan. `step3`: the bytes that step 3 needs. Errors, where there is none, with the bytes that are wanted:
/// ErrorCode::invalid_input where `cap` is the options' memory_cap, NotEnoughMemory where it is what was free.
StreamPlan require_plan(const System& system, const Options& options, const StreamCosts& costs, std::int64_t step3,
                        std::int64_t cap, std::int64_t most_batch);

/// What Step::form says where a split of B with its large elements does not fit into the cap.
std::string no_room_for_lists(std::int64_t cap);

/// Steps 3 and 4, and the sums, of a system that is checked, as sum_on_device() in device.h; energy.batch becomes that
/// of the plan. (ia|P) passes in slabs of occupied orbitals, and B through a scratch file.
void sum_streamed_here(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap,
                       Energy& energy);

}  // namespace quadrille::ri_mp2
