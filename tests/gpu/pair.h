// Two GPUs for tests of what belongs to each: those of the machine, or its only one, which then answers to the numbers
// 0 and 1. Either way, calls of the CUDA runtime that mix what belongs to different ones are found.
#pragma once

#include <string>
#include <vector>

namespace quadrille::testing {

/// "cudaEventRecord: an event of GPU 0, a stream of GPU 1", for each call since the last time that this was asked.
std::vector<std::string> mixed_calls();

/// While it lives, GPU `number` has the compute capability 7.0, which is too old.
class OldGpu {
 public:
  explicit OldGpu(int number);
  ~OldGpu();
  OldGpu(const OldGpu&) = delete;
  OldGpu& operator=(const OldGpu&) = delete;
};

}  // namespace quadrille::testing
