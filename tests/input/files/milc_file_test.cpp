// Gauge fields in MILC's format, version 5, good and damaged, in either byte order.
#include "input/files/milc/milc_file.h"

#include "gauge_file_testing.h"
#include "tests/testing/plain_links.h"

#include <algorithm>
#include <limits>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t milc_head = 96;

class MilcFileTest : public GaugeFileTest {
 protected:
  std::string saved_bytes(const std::string& bytes) const {
    write_bytes(folder_.file("a.milc"), bytes);
    return folder_.file("a.milc");
  }
  std::optional<Error> expect_bad_bytes(const std::string& bytes, std::vector<std::string> parts) const {
    const std::string path = saved_bytes(bytes);
    parts.push_back(path);
    return expect_error([&] { read_gauge_file(path); }, parts);
  }
  static std::string with_word(std::string bytes, std::size_t at, std::uint32_t word, bool big) {
    std::string text;
    put_word(text, word, 4, big);
    return bytes.replace(at, 4, text);
  }
};

TEST_F(MilcFileTest, BothByteOrdersAreRead) {
  for (const Dims& dims : {Dims{4, 2, 6, 8}, Dims{16, 12, 10, 8}}) {  // the latter: more than is moved at once
    for (const bool big : {false, true}) {
      const HostLinks links = random_links(dims, generator_);
      const GaugeFile read = read_gauge_file(saved_bytes(milc_bytes(links, big)));
      EXPECT_EQ(read.links->host_links().data, stored_links(links, 3, 32).data);
      EXPECT_EQ(read.info.format, "milc");
      EXPECT_EQ(read.info.precision, 32);
      EXPECT_EQ(read.info.dims, dims);
      EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
      EXPECT_EQ(read.info.links_sum, checksum_of(*read.links));
      EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
      EXPECT_EQ(gauge_file_info(folder_.file("a.milc")).dims, dims);
    }
  }
}

TEST_F(MilcFileTest, ChecksumsThatDoNotMatch) {
  for (const bool big : {false, true}) {
    const std::string bytes = milc_bytes(random_links({2, 4, 2, 4}, generator_), big);
    const auto flipped = [&](std::size_t at) {
      std::string changed = bytes;
      changed[at] = char(changed[at] ^ 1);
      return changed;
    };
    // Either sum of the header, and the last bit of a mantissa: only the checksum can tell.
    for (const std::size_t at :
         {std::size_t(88), std::size_t(92), milc_head + 4 * (generator_() % 1000) + (big ? 3 : 0)}) {
      expect_bad_bytes(flipped(at), {"byte 96: ", "checksum mismatch: the file says sum29 ", ", sum31 ",
                                     "gauge.verify_checksum: false"});
      LogCapture captured;
      const GaugeFile read = read_gauge_file(folder_.file("a.milc"), {.verify_checksum = false});
      EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::mismatch);
      EXPECT_THAT(captured.text(), HasSubstr("checksum mismatch"));
      EXPECT_THAT(captured.text(), Not(HasSubstr("verify_checksum")));
    }
    // Two words of different numbers, exchanged.
    std::string exchanged = bytes;
    std::swap_ranges(exchanged.begin() + milc_head, exchanged.begin() + milc_head + 4,
                     exchanged.begin() + milc_head + 4);
    expect_bad_bytes(exchanged, {"checksum mismatch"});
  }
}

TEST_F(MilcFileTest, CutAnywhereIsAnError) {
  const std::string bytes = milc_bytes(random_links({2, 2, 2, 4}, generator_), false);
  for (const std::size_t cut : {4 + generator_() % 92, std::size_t(95)})
    expect_bad_bytes(bytes.substr(0, cut), {"byte 0: ", "the file ends in its header, which has 96 bytes"});
  for (const std::size_t cut : {milc_head, milc_head + generator_() % 9000, bytes.size() - 1})
    expect_bad_bytes(bytes.substr(0, cut), {"byte 96: ", std::to_string(cut - 96) + " bytes follow the header",
                                            "2 x 2 x 2 x 4 lattice take 9216"});
  expect_bad_bytes(bytes + "x", {"9217 bytes follow the header"});
}

TEST_F(MilcFileTest, WrongWordsInTheHeader) {
  for (const bool big : {false, true}) {
    const std::string bytes = milc_bytes(random_links({2, 4, 6, 2}, generator_), big);
    const auto with = [&](std::size_t at, std::uint32_t word) { return with_word(bytes, at, word, big); };
    expect_bad_bytes(with(12, 8), {"2 x 4 x 8 x 2 lattice take"});
    expect_bad_bytes(with(12, 0), {"an extent of 0: it must be 1 to"});
    expect_bad_bytes(with(4, 0xfffffffe), {"an extent of 4294967294"});
    expect_bad_bytes(with_word(with(8, 8), 12, 3, big), {"2x8x3x2", "its z extent 3 is not an even number"});
    expect_bad_bytes(with(0, 20104), {"not a LIME file"});
    const auto error = expect_bad_bytes(with(84, 1), {"byte 84: ", "order of a list in the file", "must be 0"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::unsupported);
  }
}

TEST_F(MilcFileTest, NumbersThatAreNotFinite) {
  HostLinks links = random_links({2, 4, 6, 2}, generator_);
  links.link(31, 2)[7] = {std::numeric_limits<double>::infinity(), 0};
  for (const bool big : {false, true}) {
    const auto error =
        expect_bad_bytes(milc_bytes(links, big), {"byte " + std::to_string(96 + ((31 * 4 + 2) * 18 + 14) * 4) + ": ",
                                                  "inf at site (1,3,3,0), direction z (row 2, column 1)"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::numerical);
  }
}

TEST_F(MilcFileTest, ARealFileHasTheLinksOfItsIldgForm) {
  QUADRILLE_DATA_FILE(path, "lat.sample.l4444");
  const GaugeFile read = read_gauge_file(path), ildg = read_gauge_file(*data_file("lat.sample.l4444.ildg"));
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
  EXPECT_EQ(read.info.checksum.computed, (Checksum{0x02352c05, 0xd137321d}));
  EXPECT_EQ(read.links->host_links().data, ildg.links->host_links().data);
}

}  // namespace
}  // namespace quadrille
