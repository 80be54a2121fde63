// Contexts on two GPUs of one process.
#include "tests/gpu/pair.h"
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/owned.h"
#include "tests/input/capi/host.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <string>
#include <thread>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Dims dims = {4, 6, 8, 8};

const char* const job_words = R"({
  operator: {type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}, solver: {type: bicgstab, tolerance: 1e-10, sloppy: {precision: single}},
  run: [{task: propagator, source: {type: point, site: [0, 0, 0, 0]}}, {task: mesons, from: propagator},
        {task: generate, beta: 6, thermalization: 2, configurations: 1, separation: 2, seed: 3},
        {task: block_multiply, m: 12, block_sizes: [23, 5], occupations: [0.3, 1], check: true},
        {task: matrix_product_study, sizes: [300], fractions: [1e-2], salts: [100], delta: 1, repeats: 1},
        {task: md_forces, system: {source: random, particles: 2048, types: 4}, methods: [A, F], repeats: 1}]})";

/// What one context has worked out: bits of a solution and numbers of a job.
struct Worked {
  HostSpinor x = HostSpinor(dims);
  nlohmann::json correlators;
};

std::string on_gpu(int device) { return fmt::format("{{backend: cuda, device: {}, threads: 1}}", device); }

void work(int device, const std::string& links, const HostSpinor& b, Worked& worked) {
  const TemporaryFolder folder;
  const Host host(on_gpu(device).c_str());
  quadrille_gauge* gauge = host.gauge(links);
  quadrille_solver* solver =
      host.solver(host.op(gauge, "{type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}"),
                  "{type: bicgstab, tolerance: 1e-11, sloppy: {precision: half}}");
  const void* from = b.data.data();
  void* to = worked.x.data.data();
  ASSERT_EQ(quadrille_solver_solve(solver, "", &from, &to, 1, nullptr), QUADRILLE_DONE) << host.message();
  const char* json = nullptr;
  ASSERT_EQ(quadrille_job_run(host.context, gauge, job_words, folder.file("out").c_str(), &json), QUADRILLE_DONE)
      << host.message();
  worked.correlators = nlohmann::json::parse(json).at("correlators");
}

TEST(TwoGpus, HaveABackendEach) {
  Backend &first = find_backend("cuda", 0), &second = find_backend("cuda", 1);
  EXPECT_NE(&first, &second);
  EXPECT_EQ(first.ordinal(), 0);
  EXPECT_EQ(second.ordinal(), 1);
  EXPECT_EQ(&find_backend("cuda"), &first) << "that of the current device";
  {
    const UseLane there(second, nullptr);
    EXPECT_EQ(&find_backend("cuda"), &second);
    const UseLane back(first, nullptr);
    EXPECT_EQ(&find_backend("cuda"), &first);
  }
  EXPECT_EQ(&find_backend("cuda"), &first);
  const std::size_t before = first.allocated_bytes();
  void* const memory = second.allocate(4096);
  EXPECT_EQ(first.allocated_bytes(), before);
  EXPECT_EQ(second.place_of(memory), MemoryPlace::device);
  EXPECT_EQ(first.place_of(memory), MemoryPlace::other_device);
  second.release(memory, 4096);
  EXPECT_THAT(mixed_calls(), IsEmpty());
}

TEST(TwoGpus, OneThatIsTooOldDoesNotHideTheOther) {
  const OldGpu first(0);
  EXPECT_EQ(find_backend("cuda", 1).ordinal(), 1);
  EXPECT_EQ(find_backend("auto", 1).name(), "cuda");
  try {
    find_backend("cuda", 0);
    ADD_FAILURE() << "GPU 0 was taken";
  } catch (const Error& error) {
    EXPECT_THAT(error.message(), HasSubstr("backend cuda: the GPU has compute capability 7.x; at least 8.0 is needed"));
  }
}

TEST(TwoGpus, WorkAtTheSameTime) {
  const std::string links =
      fmt::format("{{start: hot, seed: {}, dims: [{}]}}", next_seed() >> 2, fmt::join(dims, ", "));
  const HostSpinor b = random_spinor(dims);
  std::vector<Worked> worked(4);
  work(0, links, b, worked[0]);
  std::vector<std::thread> threads;
  for (int k = 1; k < 4; ++k) threads.emplace_back([&, k] { work(k % 2, links, b, worked[std::size_t(k)]); });
  for (std::thread& thread : threads) thread.join();
  for (const Worked& each : worked) {
    EXPECT_EQ(each.x.data, worked[0].x.data);
    EXPECT_EQ(each.correlators, worked[0].correlators);
  }
  EXPECT_THAT(mixed_calls(), IsEmpty());
}

TEST(TwoGpus, TheHostsCurrentDeviceStays) {
  for (const int mine : {1, 0}) {
    ASSERT_EQ(cudaSetDevice(mine), cudaSuccess);
    const Host host(on_gpu(1 - mine).c_str());
    (void)host.gauge(new_links(dims, "start: cold"));
    int now = -1;
    ASSERT_EQ(cudaGetDevice(&now), cudaSuccess);
    EXPECT_EQ(now, mine);
  }
  EXPECT_THAT(mixed_calls(), IsEmpty());
}

TEST(TwoGpus, AContextRefusesMemoryOfTheOther) {
  const Host host(on_gpu(0).c_str());
  Backend& other = find_backend("cuda", 1);
  const std::size_t bytes = std::size_t(volume(dims)) * 4 * 18 * sizeof(double);
  void* const links = other.allocate(bytes);
  quadrille_gauge* gauge = nullptr;
  const void* from = links;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "order: ildg, where: device").c_str(), &from, 1,
                                        &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("in the memory of another GPU than that of the context"));
  other.release(links, bytes);
}

TEST(TwoGpus, ThereIsNoThird) {
  int count = 0;
  ASSERT_EQ(cudaGetDeviceCount(&count), cudaSuccess);
  quadrille_context* context = nullptr;
  EXPECT_EQ(quadrille_context_create(on_gpu(count).c_str(), &context), QUADRILLE_UNSUPPORTED);
  EXPECT_THAT(quadrille_message(nullptr), HasSubstr(fmt::format("there is no GPU {0}: there are {0} here", count)));
}

TEST(TwoGpus, MixedCallsAreFound) {
  (void)mixed_calls();
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  const cuda::OwnedStream stream = cuda::make_stream();
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  const cuda::OwnedEvent event = cuda::make_event();
  (void)cudaEventRecord(event.get(), stream.get());
  (void)cudaGetLastError();
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_THAT(mixed_calls(), Not(IsEmpty()));
}

}  // namespace
}  // namespace quadrille
