// Gauge fields of openQCD, good and damaged, and what is written in that format.
#include "input/files/openqcd/openqcd_file.h"

#include "gauge_file_testing.h"
#include "tests/testing/plain_links.h"

#include <limits>

namespace quadrille {
namespace {

using namespace quadrille::testing;

class OpenQcdFileTest : public GaugeFileTest {
 protected:
  static double plaquette_of(const HostLinks& links) {
    const Lattice lattice(links.dims);
    return GaugeStore(lattice, links).observables().plaquette;
  }
  std::string saved_bytes(const std::string& bytes) const {
    write_bytes(folder_.file("a.openqcd"), bytes);
    return folder_.file("a.openqcd");
  }
  std::optional<Error> expect_bad_bytes(const std::string& bytes, std::vector<std::string> parts) const {
    const std::string path = saved_bytes(bytes);
    parts.push_back(path);
    return expect_error([&] { read_gauge_file(path); }, parts);
  }
};

TEST_F(OpenQcdFileTest, IsReadBitForBit) {
  for (const Dims& dims : {Dims{4, 2, 6, 8}, Dims{2, 2, 2, 4}, Dims{8, 12, 10, 6}}) {
    const HostLinks links = random_links(dims, generator_);
    const GaugeFile read = read_gauge_file(saved_bytes(openqcd_bytes(links, plaquette_of(links))));
    EXPECT_EQ(read.links->host_links().data, links.data);
    EXPECT_EQ(read.info.format, "openqcd");
    EXPECT_EQ(read.info.precision, 64);
    EXPECT_EQ(read.info.dims, dims);
    EXPECT_EQ(read.info.links_sum, checksum_of(*read.links));
    EXPECT_EQ(gauge_file_info(folder_.file("a.openqcd")).dims, dims);
  }
}

TEST_F(OpenQcdFileTest, IsWrittenByteForByte) {
  const HostLinks links = random_links({4, 6, 2, 8}, generator_);
  const Lattice lattice(links.dims);
  const GaugeStore store(lattice, links);
  write_openqcd_gauge(folder_.file("b"), store, {});
  EXPECT_EQ(read_bytes(folder_.file("b")), openqcd_bytes(links, store.observables().plaquette));
  expect_error([&] { write_openqcd_gauge(folder_.file("c"), store, {.precision = 32}); }, {"numbers of 64 bits"});
  expect_error([&] { write_openqcd_gauge(folder_.file("c"), store, {.rows = 2}); }, {"three rows"});
  EXPECT_FALSE(fs::exists(folder_.file("c")));
}

TEST_F(OpenQcdFileTest, AnotherPlaquetteIsAnError) {
  const HostLinks links = random_links({2, 4, 2, 4}, generator_);
  const double plaquette = plaquette_of(links);
  expect_bad_bytes(openqcd_bytes(links, plaquette + 1e-8),
                   {"byte 16: ", "the header says plaquette / 3 = ", "gauge.verify_checksum: false"});
  LogCapture captured;
  EXPECT_NO_THROW(read_gauge_file(folder_.file("a.openqcd"), {.verify_checksum = false}));
  EXPECT_THAT(captured.text(), ::testing::HasSubstr("the header says plaquette"));
  EXPECT_NO_THROW(read_gauge_file(saved_bytes(openqcd_bytes(links, plaquette + 1e-12))));
  // A link that is another one: the plaquette tells.
  std::string bytes = openqcd_bytes(links, plaquette);
  bytes.replace(24 + 5 * 144, 144, bytes.substr(24 + 7 * 144, 144));
  expect_bad_bytes(bytes, {"the header says plaquette"});
}

TEST_F(OpenQcdFileTest, CutFilesAndOddExtentsAreErrors) {
  const HostLinks links = random_links({2, 2, 2, 4}, generator_);
  const std::string bytes = openqcd_bytes(links, plaquette_of(links));
  expect_bad_bytes(bytes.substr(0, bytes.size() - 8), {"not a LIME file"});  // without a magic number
  std::string odd(24 + 3 * 2 * 2 * 2 * 4 * 144, '\0');
  odd[0] = odd[8] = odd[12] = 2;
  odd[4] = 3;
  expect_bad_bytes(odd, {"its x extent 3 is not an even number"});
}

TEST_F(OpenQcdFileTest, NumbersThatAreNotFinite) {
  HostLinks links = random_links({2, 4, 6, 2}, generator_);
  const double plaquette = plaquette_of(links);
  links.link(31, 2)[7] = {std::numeric_limits<double>::infinity(), 0};
  const auto error =
      expect_bad_bytes(openqcd_bytes(links, plaquette), {"inf at site (1,3,3,0), direction z (row 2, column 1)"});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::numerical);
  const Lattice lattice(links.dims);
  const GaugeStore store(lattice, links);
  expect_error([&] { write_openqcd_gauge(folder_.file("c"), store, {}); }, {"inf at site (1,3,3,0)"});
  EXPECT_FALSE(fs::exists(folder_.file("c")));
}

}  // namespace
}  // namespace quadrille
