// Measures messages between the GPUs of ranks, by each transport that these ranks can use:
//
//   mpirun -n 2 rank_messages_cuda [repetitions = 200]
//
// The ranks stand in a row along t; each sends to both neighbours at once, one rank alone to itself. `exchange` is the
// time from one exchange to the next when nothing else is to be done, `start` and `finish` what of it the host spends
// in these calls; rank 0's. Ranks that share a GPU take turns on it, which says nothing of a transport.
#include "core/backend/backend.h"
#include "core/backend/cuda/channels/device_channel.h"
#include "core/backend/cuda/runtime.h"
#include "core/comm/ranks.h"
#include "core/error.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

extern "C" quadrille::Ranks* quadrille_join_ranks();

namespace {

using namespace quadrille;
using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration time) { return std::chrono::duration<double, std::micro>(time).count(); }

/// Times of one exchange.
struct Times {
  double start = 0, finish = 0, exchange = 0;
};

Times measured(cuda::DeviceChannel& channel, const Communicator& ranks, int repetitions) {
  Times times;
  const auto once = [&] {
    const auto before = Clock::now();
    channel.start(cuda::stream());
    const auto between = Clock::now();
    channel.finish(cuda::stream());
    times.start += microseconds(between - before) / repetitions;
    times.finish += microseconds(Clock::now() - between) / repetitions;
  };
  for (int k = 0; k < 20; ++k) once();
  times = {};
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
  ranks.barrier();
  const auto before = Clock::now();
  for (int k = 0; k < repetitions; ++k) once();
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
  times.exchange = microseconds(Clock::now() - before) / repetitions;
  return times;
}

void measure(const char* transport, const Communicator& ranks, int repetitions) {
  ::setenv("QUADRILLE_TRANSPORT", transport, 1);
  for (const std::size_t bytes : {100'000, 460'000, 790'000, 1'570'000, 4'000'000, 10'000'000}) {
    const auto channel = cuda::make_device_channel(ranks, {{7, bytes}, {3, bytes}});
    const Times times = measured(*channel, ranks, repetitions);
    if (ranks.rank() > 0) continue;
    std::printf("%-8s %10.2f %10.1f %10.1f %10.1f %10.1f\n", transport, double(bytes) * 1e-6, times.start, times.finish,
                times.exchange, double(bytes) * 1e-3 / times.exchange);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int repetitions = argc > 1 ? std::max(1, std::atoi(argv[1])) : 200;
  const std::unique_ptr<Ranks> joined(quadrille_join_ranks());
  const UseLane on_its_device(find_backend("cuda", joined->local_rank()), nullptr);
  const auto ranks = joined->communicator({1, 1, 1, joined->size()});
  if (ranks->rank() == 0) {
    std::printf("%-8s %10s %10s %10s %10s %10s\n", "", "MB a way", "start us", "finish us", "exchange", "GB/s a way");
  }
  for (const char* transport : {"peer", "nccl", "pinned"}) {
    try {
      measure(transport, *ranks, repetitions);
    } catch (const Error& error) {
      if (ranks->rank() == 0) std::printf("%-8s %s\n", transport, error.what());
    }
  }
}
