// The CUDA backend itself: memory and its errors, staging, deterministic sums, the codec's bits.
#include "core/backend/backend.h"

#include "core/backend/cuda/owned.h"
#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace quadrille {
namespace {

using testing::backend;
using testing::next_seed;

TEST(CudaBackend, BytesComeBackAsTheyWent) {
  for (std::size_t bytes : {std::size_t(1), std::size_t(4096), (std::size_t(40) << 20) + 12345}) {
    std::vector<unsigned char> sent(bytes), received(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<unsigned char>((i * 2654435761u) >> 13);
    void* memory = backend().allocate(bytes);
    backend().copy_out(received.data(), memory, bytes);
    if (poisons_memory) {
      EXPECT_EQ(received, std::vector<unsigned char>(bytes, 0xff)) << "fresh memory is not-a-number";
    }
    backend().copy_in(memory, sent.data(), bytes);
    backend().copy_out(received.data(), memory, bytes);
    EXPECT_EQ(received, sent);

    const cuda::PinnedMemory pinned = cuda::make_pinned(bytes, cudaHostAllocDefault, "this test");
    EXPECT_TRUE(cuda::is_pinned(pinned.get()));
    std::fill_n(pinned.get(), bytes, std::byte(0xee));
    backend().copy_out(pinned.get(), memory, bytes);
    EXPECT_EQ(std::memcmp(pinned.get(), sent.data(), bytes), 0);
    std::reverse(pinned.get(), pinned.get() + bytes);
    backend().copy_in(memory, pinned.get(), bytes);
    backend().copy_out(received.data(), memory, bytes);
    std::reverse(sent.begin(), sent.end());
    EXPECT_EQ(received, sent);
    backend().release(memory, bytes);
  }
}

/// Others in the process use the device's default pool: it gives memory back as they have set it.
TEST(CudaBackend, TheDefaultPoolIsLeftToOthers) {
  void* memory = backend().allocate(1 << 20);
  cudaMemPool_t pool = nullptr;
  std::uint64_t threshold = 1;
  ASSERT_EQ(cudaDeviceGetDefaultMemPool(&pool, backend().ordinal()), cudaSuccess);
  ASSERT_EQ(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold), cudaSuccess);
  EXPECT_EQ(threshold, 0u);
  backend().release(memory, 1 << 20);
}

TEST(CudaBackend, MemoryThatRunsOutIsAClearErrorAndTheDeviceWorksOn) {
  const std::size_t before = backend().allocated_bytes();
  try {
    backend().allocate(std::size_t(1) << 50);
    FAIL() << "a petabyte";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(error.message().find("1125899906842624 bytes"), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("are free on the GPU " + backend().device()), std::string::npos) << error.message();
    EXPECT_NE(error.message().find("CUDA: cudaMallocFromPoolAsync: "), std::string::npos) << error.message();
  }
  EXPECT_EQ(backend().allocated_bytes(), before);
  const Lattice lattice({8, 8, 8, 8});
  Field x(FieldDesc::spinor(lattice, Subset::Full, Precision::Single, backend()));
  blas::zero(x);
  EXPECT_EQ(blas::norm2(x), 0);
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    return error.message();
  }
  ADD_FAILURE() << "no error";
  return "";
}

TEST(CudaBackend, AnErrorNamesTheCallAndTheDeviceWorksOn) {
  const std::string message = message_of([] { QUADRILLE_CUDA_CHECK(cudaSetDevice(1 << 20)); });
  EXPECT_NE(message.find("CUDA: cudaSetDevice(1 << 20): "), std::string::npos) << message;
  EXPECT_NE(message.find("(cudaErrorInvalidDevice)"), std::string::npos) << message;
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  backend().synchronize();
}

TEST(CudaBackend, PinnedMemoryThatRunsOutIsAClearError) {
  constexpr std::size_t petabyte = std::size_t(1) << 50;
  const std::string message =
      message_of([] { cuda::make_pinned(petabyte, cudaHostAllocDefault, "this test's buffer"); });
  for (const char* part : {"CUDA: cudaHostAlloc: ", "this test's buffer needs 1125899906842624 bytes",
                           "bytes are free in the host's memory"}) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST(CudaBackend, AnyCallThatFindsNoMemorySaysWhatIsFree) {
  const std::string plain = message_of([] { cuda::check(cudaErrorMemoryAllocation, "cudaSomething"); });
  EXPECT_NE(plain.find("CUDA: cudaSomething: "), std::string::npos) << plain;
  EXPECT_NE(plain.find(" bytes are free on the GPU " + backend().device()), std::string::npos) << plain;
  const std::string context = message_of([] {
    cuda::check_memory(cudaErrorMemoryAllocation, "cudaSomething", {.what = "a stream", .advice = "end others"});
  });
  EXPECT_NE(context.find(": a stream needs memory; "), std::string::npos) << context;
  EXPECT_NE(context.find(" bytes are free on the GPU " + backend().device() + "; end others"), std::string::npos)
      << context;
}

TEST(CudaBackend, HostCodeCannotTouchItsFields) {
  const Lattice lattice({4, 4, 4, 4});
  const Field x(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend()));
  EXPECT_THROW(SiteAccess<double>(x, Parity::Even), Error);
}

TEST(CudaBackend, SumsAreTheSameBitsEveryTime) {
  for (const Dims& dims : {Dims{4, 4, 4, 4}, Dims{16, 16, 16, 32}}) {
    const Lattice lattice(dims);
    for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
      Field x(FieldDesc::spinor(lattice, Subset::Full, p, backend())), y(x.desc());
      fill_gaussian(x, next_seed());
      fill_gaussian(y, next_seed());
      const auto first = blas::dot(x, y);
      const double norm = blas::norm2(x);
      for (int i = 0; i < 50; ++i) {
        ASSERT_EQ(blas::dot(x, y), first);
        ASSERT_EQ(blas::norm2(x), norm);
      }
    }
  }
}

TEST(CudaBackend, SumsAgreeWithTheCpu) {
  for (const Dims& dims : testing::test_extents) {
    const Lattice lattice(dims);
    for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
      Field x(FieldDesc::spinor(lattice, Subset::Full, p, backend()));
      fill_gaussian(x, next_seed());
      Field there(FieldDesc::spinor(lattice, Subset::Full, p));
      convert(there, x);
      EXPECT_NEAR(blas::norm2(x), blas::norm2(there), (p == Precision::Half ? 1e-6 : 1e-14) * blas::norm2(there));
    }
  }
}

TEST(CudaBackend, ConversionsGiveTheBitsOfTheCpu) {
  for (const Dims& dims : testing::test_extents) {
    const Lattice lattice(dims);
    const std::uint64_t seed = next_seed();
    for (Precision from : {Precision::Double, Precision::Single, Precision::Half}) {
      for (Precision to : {Precision::Double, Precision::Single, Precision::Half}) {
        HostSpinor result[2] = {HostSpinor(dims), HostSpinor(dims)};
        for (Backend* where : {&cpu_backend(), &backend()}) {
          Field a(FieldDesc::spinor(lattice, Subset::Full, from, *where)),
              b(FieldDesc::spinor(lattice, Subset::Full, to, *where));
          fill_gaussian(a, seed);
          convert(b, a);
          export_spinor(result[where == &backend()], b);
        }
        EXPECT_EQ(result[0].data, result[1].data) << to_string(from) << " to " << to_string(to);
      }
    }
  }
}

TEST(CudaBackend, FieldsOfTwoBackendsDoNotMix) {
  const Lattice lattice({4, 4, 4, 4});
  Field here(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend()));
  Field there(FieldDesc::spinor(lattice, Subset::Full, Precision::Double));
  EXPECT_THROW(blas::axpy(1, here, there), Error);
}

}  // namespace
}  // namespace quadrille
