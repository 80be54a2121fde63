// Arrays of a host in the memory of the GPU: the C API with `where: device` does what it does with arrays of the host.
#include "core/backend/backend.h"
#include "tests/input/capi/host.h"
#include "tests/testing/backend_under_test.h"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

constexpr Dims dims{4, 6, 2, 8};
const char* const operator_words = "{type: wilson, mass: 0.1, boundary: [periodic, periodic, periodic, antiperiodic]}";

/// Bytes on the device.
class DeviceCopy {
 public:
  explicit DeviceCopy(const void* host, std::size_t bytes) : bytes_(bytes), memory_(backend().allocate(bytes)) {
    backend().copy_in(memory_, host, bytes);
  }
  ~DeviceCopy() { backend().release(memory_, bytes_); }
  DeviceCopy(const DeviceCopy&) = delete;
  void* get() const { return memory_; }
  template <class T>
  std::vector<T> fetched() const {
    std::vector<T> out(bytes_ / sizeof(T));
    backend().copy_out(out.data(), memory_, bytes_);
    return out;
  }

 private:
  std::size_t bytes_;
  void* memory_;
};

TEST(ForeignArrays, OfADeviceAreRefusedOnTheCpu) {
  const Host host("{backend: cpu}");
  const std::vector<double> links(256 * 72);
  const DeviceCopy on_device(links.data(), links.size() * sizeof(double));
  const void* const from = on_device.get();
  quadrille_gauge* made = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, "{dims: [4, 4, 4, 4]}", &from, 1, &made),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("is in the memory of a GPU, but this context has the backend cpu"));
  void* managed = nullptr;
  ASSERT_EQ(cudaMallocManaged(&managed, 64), cudaSuccess);
  EXPECT_EQ(cpu_backend().place_of(managed), MemoryPlace::both);
  EXPECT_EQ(cpu_backend().place_of(links.data()), MemoryPlace::host);
  EXPECT_EQ(cudaFree(managed), cudaSuccess);
  std::thread([&] {  // one that has never used the GPU
    EXPECT_EQ(cpu_backend().place_of(from), MemoryPlace::device);
  })
      .join();
}

TEST(ForeignArrays, LinksAndSpinorsOnTheDeviceAreThoseOfTheHost) {
  const Host host;
  const LinkHost<double> links(hot_start(Lattice(dims), next_seed()), {false, true, true, false});
  const std::size_t link_bytes = links.arrays[0].size() * sizeof(Complex);
  const DeviceCopy on_device(links.arrays[0].data(), link_bytes);
  quadrille_gauge* of_host = host.gauge(new_links(dims, "order: cps"), links.in());
  quadrille_gauge* of_device = host.gauge(new_links(dims, "order: cps, where: device"), {on_device.get()});
  const std::vector<Complex> nothing(links.arrays[0].size());
  const DeviceCopy back(nothing.data(), link_bytes);
  void* to = back.get();
  ASSERT_EQ(quadrille_gauge_to_memory(of_device, "{order: cps, where: device}", &to, 1), QUADRILLE_DONE)
      << host.message();
  EXPECT_EQ(back.fetched<Complex>(), links.arrays[0]);

  const HostSpinor b = random_spinor(dims);
  HostSpinor x(dims);
  const void* from = b.data.data();
  to = x.data.data();
  const char* const solver_words = "{type: bicgstab, tolerance: 1e-10}";
  quadrille_report report = QUADRILLE_REPORT_INIT;
  ASSERT_EQ(
      quadrille_solver_solve(host.solver(host.op(of_host, operator_words), solver_words), "{}", &from, &to, 1, &report),
      QUADRILLE_DONE)
      << host.message();
  EXPECT_EQ(report.host_bytes, 2 * b.data.size() * sizeof(Complex));
  const DeviceCopy device_b(b.data.data(), b.data.size() * sizeof(Complex));
  const DeviceCopy device_x(b.data.data(), b.data.size() * sizeof(Complex));
  from = device_b.get();
  to = device_x.get();
  quadrille_solver* const solver = host.solver(host.op(of_device, operator_words), solver_words);
  const std::size_t copied = testing::backend().copied_bytes();
  const void* const device_links = on_device.get();
  ASSERT_EQ(quadrille_gauge_update(of_device, "{order: cps, where: device}", &device_links, 1), QUADRILLE_DONE)
      << host.message();
  ASSERT_EQ(quadrille_solver_solve(solver, "where: device", &from, &to, 1, &report), QUADRILLE_DONE) << host.message();
  EXPECT_EQ(report.host_bytes, 0u);
  EXPECT_LT(testing::backend().copied_bytes() - copied, b.data.size()) << "sums and signs only, no field";
  EXPECT_EQ(device_x.fetched<Complex>(), x.data);
}

/// A stream of the host, and memory of its that a device copies from behind its back.
struct HostStream {
  explicit HostStream(const std::vector<Complex>& numbers) {
    EXPECT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
    EXPECT_EQ(cudaMallocHost(&pinned, numbers.size() * sizeof(Complex)), cudaSuccess);
    std::memcpy(pinned, numbers.data(), numbers.size() * sizeof(Complex));
  }
  ~HostStream() {
    (void)cudaStreamSynchronize(stream);
    (void)cudaFreeHost(pinned);
    (void)cudaStreamDestroy(stream);
  }
  HostStream(const HostStream&) = delete;

  cudaStream_t stream = nullptr;
  void* pinned = nullptr;
};

/// The spinor comes by a stream that is busy for a while when the call begins.
TEST(ForeignArrays, ACallWaitsForTheStreamThatItsArraysAreReadyOn) {
  const Host host;
  quadrille_operator* op = host.op(
      host.gauge(fmt::format("{{start: hot, seed: {}, dims: [4, 6, 2, 8]}}", next_seed() >> 2)), operator_words);
  const HostSpinor b = random_spinor(dims);
  HostSpinor wanted(dims);
  const std::size_t bytes = b.data.size() * sizeof(Complex);
  const void* in = b.data.data();
  void* out = wanted.data.data();
  ASSERT_EQ(quadrille_operator_apply(op, QUADRILLE_M, "", &in, &out, 1), QUADRILLE_DONE) << host.message();
  for (const bool named : {true, false}) {  // without one the call waits for all of them
    const HostStream other(b.data);
    const HostSpinor zero(dims);
    const DeviceCopy late(zero.data.data(), bytes), found(zero.data.data(), bytes);
    backend().synchronize();
    ASSERT_EQ(quadrille_context_set_stream(host.context, named ? other.stream : nullptr), QUADRILLE_DONE);
    ASSERT_EQ(cudaLaunchHostFunc(
                  other.stream, [](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }, nullptr),
              cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(late.get(), other.pinned, bytes, cudaMemcpyHostToDevice, other.stream), cudaSuccess);
    in = late.get();
    out = found.get();
    ASSERT_EQ(quadrille_operator_apply(op, QUADRILLE_M, "where: device", &in, &out, 1), QUADRILLE_DONE)
        << host.message();
    EXPECT_EQ(found.fetched<Complex>(), wanted.data);
  }
  ASSERT_EQ(quadrille_context_set_stream(host.context, nullptr), QUADRILLE_DONE);
}

TEST(ForeignArrays, PointersToAnotherPlaceAreRefused) {
  const Host host;
  const LinkHost<double> links(hot_start(Lattice(dims), next_seed()), {false, false, false, false});
  const DeviceCopy on_device(links.arrays[0].data(), links.arrays[0].size() * sizeof(Complex));
  quadrille_gauge* gauge = nullptr;
  const void* in = on_device.get();
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims).c_str(), &in, 1, &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[0] is in the memory of the GPU: use `where: device`"));
  in = links.arrays[0].data();
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "where: device").c_str(), &in, 1, &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[0] is in the memory of the host: use `where: host`"));
}

}  // namespace
}  // namespace quadrille
