// Fields on their way between files and a backend, in pieces.
#include "input/files/lattice_data.h"

#include "core/backend/transfer_buffer.h"
#include "tests/input/files/lime_testing.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/file_size_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <omp.h>
#include <sys/stat.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <thread>

namespace quadrille {
namespace {

using namespace testing;

constexpr const char* record_type = "scidac-binary-data";

/// Sites that make three pieces of 8 MiB, the last of them not full.
constexpr DataFormat three_pieces(int precision) {
  return {.dims = {8, 6, 10, precision == 64 ? 20 : 40}, .reals = 264, .precision = precision};
}

std::size_t all_bytes(const DataFormat& format) { return std::size_t(field_bytes(format).value()); }

class LatticeDataTest : public ::testing::TestWithParam<int> {
 protected:
  /// Finite numbers as they stand in a file: the lowest bit of the exponent is never set.
  std::string random_bytes() {
    std::string bytes(all_bytes(format_), '\0');
    for (std::size_t i = 0; i < bytes.size(); i += 8) {
      const std::uint64_t word = generator_();
      std::memcpy(bytes.data() + i, &word, 8);
    }
    const std::size_t size = std::size_t(format_.precision) / 8;
    const int bit = size == 8 ? 0x10 : 0x80;
    for (std::size_t i = 1; i < bytes.size(); i += size) bytes[i] = char(bytes[i] & ~bit);
    return bytes;
  }
  void put(std::string& bytes, std::int64_t real, double value) const {
    const std::size_t size = std::size_t(format_.precision) / 8;
    const std::uint64_t word =
        size == 8 ? std::bit_cast<std::uint64_t>(value) : std::uint64_t(std::bit_cast<std::uint32_t>(float(value)));
    put_big_number(bytes, std::size_t(real) * size, word, size);
  }
  std::string write_record(const std::string& name, const std::string& data) {
    const std::string path = folder_.file(name);
    write_bytes(path, raw_bytes({RawRecord{"first", "text", 0x80}, RawRecord{record_type, data, 0x40}}));
    return path;
  }
  /// Packs from bytes of the host; complains of pieces out of order.
  PackSites pack_from(const std::string& bytes) {
    next_ = 0;
    return [this, &bytes](void* piece, std::int64_t first, std::int64_t count) {
      EXPECT_EQ(first, next_);
      next_ = first + count;
      const std::size_t site = format_.site_bytes();
      backend().copy_in(piece, bytes.data() + std::size_t(first) * site, std::size_t(count) * site);
    };
  }
  UnpackSites unpack_to(std::string& bytes) {
    next_ = 0;
    return [this, &bytes](const void* piece, std::int64_t first, std::int64_t count) {
      EXPECT_EQ(first, next_);
      next_ = first + count;
      const std::size_t site = format_.site_bytes();
      backend().copy_out(bytes.data() + std::size_t(first) * site, piece, std::size_t(count) * site);
    };
  }
  Checksum write(const std::string& path, const std::string& bytes, LimeMover mover = LimeMover::builtin) {
    LimeOutput file(path, mover);
    file.record("first", "text", true, false);
    file.begin_record(record_type, all_bytes(format_), false, false);
    const Checksum sum = write_pieces(file, format_, backend(), pack_from(bytes), name_);
    file.end_record();
    file.record("last", "12345", false, true);
    file.commit();
    return sum;
  }
  Checksum sum_of(const std::string& bytes) const {
    return checksum_of_sites(bytes.data(), format_.site_bytes(), 0, volume(format_.dims));
  }

  std::mt19937_64 generator_ = fresh_generator();
  DataFormat format_ = three_pieces(GetParam());
  TemporaryFolder folder_;
  std::int64_t next_ = 0;
  RealName name_ = [](std::int64_t real) { return fmt::format("number {}", real); };
};
INSTANTIATE_TEST_SUITE_P(Bits, LatticeDataTest, ::testing::Values(32, 64));

std::vector<LimeMover> movers() {
  std::vector<LimeMover> all = {LimeMover::builtin};
  if (lime_has_clime()) all.push_back(LimeMover::clime);
  return all;
}

TEST_P(LatticeDataTest, EveryByteArrivesBothWays) {
  const std::string bytes = random_bytes();
  const int before = omp_get_max_threads();
  for (const LimeMover mover : movers()) {
    for (const int threads : {1, 3}) {
      omp_set_num_threads(threads);
      EXPECT_EQ(write(folder_.file("a"), bytes, mover), sum_of(bytes));
      const std::vector<RawRecord> raw = raw_records(read_bytes(folder_.file("a")));
      ASSERT_EQ(raw.size(), 3u);
      EXPECT_TRUE(raw[1].data == bytes);
      EXPECT_EQ(raw[2].data, "12345");
      std::string read(bytes.size(), '\x55');
      const LimeInput file(folder_.file("a"), mover);
      const SiteData found = read_pieces(file, *file.find(record_type), format_, backend(), unpack_to(read));
      EXPECT_EQ(found.checksum, sum_of(bytes));
      EXPECT_EQ(found.not_finite, -1);
      EXPECT_EQ(next_, volume(format_.dims));
      EXPECT_TRUE(read == bytes);
    }
  }
  omp_set_num_threads(before);
  const SiteData looked = check_pieces(format_, backend(), pack_from(bytes));
  EXPECT_EQ(looked.checksum, sum_of(bytes));
  EXPECT_EQ(looked.not_finite, -1);
}

TEST_P(LatticeDataTest, TheFirstNumberThatIsNotFiniteIsFound) {
  const std::int64_t reals = volume(format_.dims) * format_.reals;
  constexpr double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  for (int i = 0; i < 6; ++i) {
    std::string bytes = random_bytes();
    const std::int64_t one = std::int64_t(generator_() % std::uint64_t(reals)), other = i == 0 ? reals - 1 : one;
    const std::int64_t later = other + std::int64_t(generator_() % std::uint64_t(reals - other));
    const double value = i % 3 == 0 ? nan : i % 3 == 1 ? inf : -inf;
    put(bytes, later, -value);
    put(bytes, other, value);
    const LimeInput file(write_record("a", bytes));
    std::string read(bytes.size(), '\0');
    for (const SiteData& found : {read_pieces(file, *file.find(record_type), format_, backend(), unpack_to(read)),
                                  check_pieces(format_, backend(), pack_from(bytes))}) {
      EXPECT_EQ(found.not_finite, other);
      EXPECT_EQ(found.checksum, sum_of(bytes));
      EXPECT_EQ(std::isnan(found.value), std::isnan(value));
      EXPECT_TRUE(std::isnan(value) || found.value == value) << found.value;
    }
    expect_error([&] { write(folder_.file("b"), bytes); },
                 {folder_.file("b"), fmt::format("number {} cannot", other), "the incomplete file was removed"});
    EXPECT_EQ(folder_.count(), 1u);
  }
}

TEST_P(LatticeDataTest, AFileThatBecomesShorterAndAnErrorOfTheBackendSurface) {
  const std::string bytes = random_bytes(), path = write_record("a", bytes);
  std::string read(bytes.size(), '\0');
  const LimeInput file(path, LimeMover::builtin);
  const auto fail = [](const void*, std::int64_t first, std::int64_t) {
    if (first > 0) throw Error(ErrorCode::internal, "this backend is tired");
  };
  expect_error([&] { read_pieces(file, *file.find(record_type), format_, backend(), fail); }, {"tired"});
  const auto begin_writing = [&] {
    LimeOutput output(folder_.file("b"));
    output.begin_record(record_type, all_bytes(format_), true, true);
    write_pieces(output, format_, backend(), fail, name_);
  };
  expect_error(begin_writing, {"tired"});
  EXPECT_EQ(folder_.count(), 1u);
  fs::resize_file(path, bytes.size() / 2);
  expect_error([&] { read_pieces(file, *file.find(record_type), format_, backend(), unpack_to(read)); },
               {path, "the file ends"});
}

TEST_P(LatticeDataTest, AFullDiskLeavesNoFile) {
  const std::string bytes = random_bytes();
  for (const LimeMover mover : movers()) {
    const auto write_half = [&] {
      const FileSizeLimit full(bytes.size() / 2);
      write(folder_.file("a"), bytes, mover);
    };
    expect_error(write_half, {folder_.file("a"), "file too large", "the incomplete file was removed"});
    EXPECT_EQ(folder_.count(), 0u);
  }
}

TEST_P(LatticeDataTest, APipeGetsTheSameBytes) {
  const std::string bytes = random_bytes(), pipe = folder_.file("pipe");
  write(folder_.file("a"), bytes);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string received;
  std::thread reader([&] { received = read_bytes(pipe); });
  write(pipe, bytes);
  reader.join();
  EXPECT_TRUE(received == read_bytes(folder_.file("a")));
}

TEST(TransferBufferTest, BytesGoAndCome) {
  auto generator = fresh_generator();
  constexpr std::size_t bytes = 100003;
  const std::unique_ptr<TransferBuffer> buffer = backend().transfer_buffer(bytes);
  std::string sent(bytes, '\0'), there(bytes, '\0'), back(bytes, '\0');
  for (char& c : sent) c = char(generator());
  std::memcpy(buffer->host(), sent.data(), bytes);
  buffer->send(bytes);
  buffer->wait();
  backend().copy_out(there.data(), buffer->device(), bytes);
  EXPECT_TRUE(there == sent);
  for (char& c : sent) c = char(generator());
  backend().copy_in(buffer->device(), sent.data(), bytes);
  buffer->fetch(bytes);
  buffer->wait();
  std::memcpy(back.data(), buffer->host(), bytes);
  EXPECT_TRUE(back == sent);
  EXPECT_EQ(buffer->host() == buffer->device(), backend().host_memory());
}

}  // namespace
}  // namespace quadrille
