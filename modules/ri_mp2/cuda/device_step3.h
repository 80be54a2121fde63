// Step 3 on a GPU.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/ri_mp2/step3.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille::ri_mp2 {

/// Calls use(panel, first, rows), which asks the backend's stream for what it does with rows [first, first + rows) of
/// (ia|P), without gaps on the device, while the next ones travel.
void for_each_panel(const System& system,
                    const std::function<void(const double* panel, std::int64_t first, std::int64_t rows)>& use);

/// B_ia^Q there, in double or mixed precision; as make_b_here(). Waits.
cuda::DeviceArray<double> make_b_there(const System& system, const Options& options, const std::vector<double>& root,
                                       Step& step, Step3Errors& errors);

/// The same in single precision.
cuda::DeviceArray<float> make_single_b_there(const System& system, const std::vector<double>& root, Step& step);

}  // namespace quadrille::ri_mp2
