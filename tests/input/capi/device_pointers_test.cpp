// A context on the CPU is given memory of a GPU: it asks the CUDA driver of the process, here one that this test
// brings.
#include "core/backend/backend.h"
#include "tests/input/capi/host.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

namespace quadrille {
namespace {

using namespace testing;
using ::testing::HasSubstr;

TEST(DevicePointers, AreRefusedInAContextOnTheCpu) {
  if (::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "a driver is loaded already";
  const Host host;
  std::vector<double> links(256 * 72), other_links(links);
  const void* from = links.data();
  void* to = links.data();
  quadrille_gauge* gauge = host.gauge("{start: hot, dims: [4, 4, 4, 4]}");
  EXPECT_EQ(cpu_backend().place_of(from), MemoryPlace::host);

  void* const driver = ::dlopen(QUADRILLE_FAKE_DRIVER, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(driver, nullptr) << ::dlerror();
  const auto fake = reinterpret_cast<void (*)(const void*, int)>(::dlsym(driver, "fake_device_memory"));
  ASSERT_NE(fake, nullptr);
  EXPECT_EQ(cpu_backend().place_of(from), MemoryPlace::host) << "unknown to the driver";

  fake(from, 0);
  EXPECT_EQ(cpu_backend().place_of(from), MemoryPlace::device);
  EXPECT_EQ(quadrille_gauge_to_memory(gauge, "{}", &to, 1), QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("is in the memory of a GPU, but this context has the backend cpu: use a "
                                        "context with `backend: cuda` and `where: device`"));
  quadrille_gauge* made = nullptr;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, "{dims: [4, 4, 4, 4]}", &from, 1, &made),
            QUADRILLE_INVALID_INPUT);

  std::vector<int> points(257);
  const void* openqcd[] = {other_links.data(), points.data()};
  fake(points.data(), 0);
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, "{dims: [4, 4, 4, 4], order: openqcd}", openqcd, 2, &made),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[1], the list of points ipt, is in the memory of a GPU"));
  openqcd[1] = reinterpret_cast<const char*>(points.data()) + 1;
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, "{dims: [4, 4, 4, 4], order: openqcd}", openqcd, 2, &made),
            QUADRILLE_INVALID_INPUT);
  EXPECT_THAT(host.message(), HasSubstr("links[1], the list of points ipt, is not aligned to the 4 bytes"));

  fake(from, 1);  // managed: the host reads and writes it, too
  EXPECT_EQ(cpu_backend().place_of(from), MemoryPlace::both);
  EXPECT_EQ(quadrille_gauge_to_memory(gauge, "{}", &to, 1), QUADRILLE_DONE) << host.message();
  fake(nullptr, 0);
  EXPECT_EQ(quadrille_gauge_from_memory(host.context, "{dims: [4, 4, 4, 4]}", &from, 1, &made), QUADRILLE_DONE)
      << host.message();
  ::dlclose(driver);
}

}  // namespace
}  // namespace quadrille
