// Arrays of a host in the memory of the GPU: the C API with `where: device` does what it does with arrays of the host.
#include "core/backend/backend.h"
#include "tests/backend_under_test.h"
#include "tests/input/capi/host.h"

#include <gmock/gmock.h>

#include <cstring>
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
  ASSERT_EQ(quadrille_solver_solve(host.solver(host.op(of_device, operator_words), solver_words), "where: device",
                                   &from, &to, 1, &report),
            QUADRILLE_DONE)
      << host.message();
  EXPECT_EQ(report.host_bytes, 0u);
  EXPECT_EQ(device_x.fetched<Complex>(), x.data);
}

TEST(ForeignArrays, PointersToAnotherPlaceAreRefused) {
  const Host host;
  const LinkHost<double> links(hot_start(Lattice(dims), next_seed()), {false, false, false, false});
  const DeviceCopy on_device(links.arrays[0].data(), links.arrays[0].size() * sizeof(Complex));
  quadrille_gauge* gauge = nullptr;
  const void* in = on_device.get();
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims).c_str(), &in, 1, &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[0] lies in the memory of the GPU: say `where: device`"));
  in = links.arrays[0].data();
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, new_links(dims, "where: device").c_str(), &in, 1, &gauge),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[0] lies in the memory of the host: say `where: host`"));
}

}  // namespace
}  // namespace quadrille
