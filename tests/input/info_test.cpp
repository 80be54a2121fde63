#include "input/commands/info.h"

#include "input/files/gauge_file.h"
#include "input/files/propagator_file.h"
#include "lime_testing.h"
#include "tests/input/host_propagator.h"

#include <sstream>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;

class InfoTest : public ::testing::Test {
 protected:
  static void expect_info(const std::string& path, const std::vector<std::string>& parts, bool good = true) {
    std::ostringstream out;
    EXPECT_EQ(info(path, out), good);
    for (const std::string& part : parts) EXPECT_THAT(out.str(), HasSubstr(part));
    const bool warned = !parts.empty() && parts[0].starts_with("warning");
    EXPECT_EQ(out.str().find("\nwarning") != std::string::npos, warned);
  }
  std::vector<RawRecord> gauge_records() {
    auto generator = fresh_generator();
    write_gauge_file(folder_.file("a.ildg"), random_links({2, 4, 6, 2}, generator));
    return raw_records(read_bytes(folder_.file("a.ildg")));
  }
  std::string saved(const std::vector<RawRecord>& records) {
    write_bytes(folder_.file("b.ildg"), raw_bytes(records));
    return folder_.file("b.ildg");
  }
  TemporaryFolder folder_;
};

TEST_F(InfoTest, TellsOfAGaugeField) {
  const std::vector<RawRecord> records = gauge_records();
  expect_info(folder_.file("a.ildg"),
              {"gauge field (ILDG)", "2 4 6 2 (x y z t)", "64 bits", "checksum      ok (suma", "plaquette", "23  ",
               "link trace", "|U U^+ - 1| at most", "in SU(3)", "scidac-private-file-xml",
               std::to_string(records[5].data_at()) + "        55296  ildg-binary-data"});
}

TEST_F(InfoTest, TellsWhereLinksComeFrom) {
  auto generator = fresh_generator();
  const LinkOrigin origin = {{"program", "Quadrille"}, {"action", "Wilson plaquette"}, {"sweep", "300"}};
  write_gauge_file(folder_.file("a.ildg"), random_links({2, 4, 6, 2}, generator), {.origin = origin});
  expect_info(folder_.file("a.ildg"), {"origin        program: Quadrille\n              action: Wilson plaquette\n"
                                       "              sweep: 300\n"});
}

TEST_F(InfoTest, ReportsABadChecksumAndBadLinks) {
  std::vector<RawRecord> records = gauge_records();
  std::string& data = find_raw(records, "ildg-binary-data").data;
  data[1] = char(data[1] ^ 0x08);  // half or twice the number
  expect_info(saved(records),
              {"checksum      mismatch (the file says suma", "NOT in SU(3)", "site (0,0,0,0), direction x"}, false);
}

TEST_F(InfoTest, TellsOfALengthThatLooksWrong) {
  std::vector<RawRecord> records = gauge_records();
  records.push_back({"xlf-info", "plaquette = 0.5", 0xc0});
  write_bytes(folder_.file("b.ildg"), with_length_changed(records, records.size() - 1, -1));
  const std::size_t end = raw_records(read_bytes(folder_.file("b.ildg"))).back().data_at() + 14;
  expect_info(folder_.file("b.ildg"),
              {"warning       ", "record 8 (xlf-info), byte " + std::to_string(end),
               "the padding is not zero: is the length field 14 too short?", "checksum      ok"});
}

TEST_F(InfoTest, ReportsAMissingChecksum) {
  std::vector<RawRecord> records = gauge_records();
  records.pop_back();
  records.back().flags = 0x40;
  expect_info(saved(records), {"checksum      missing (computed suma"});
}

TEST_F(InfoTest, TellsOfAPropagator) {
  auto generator = fresh_generator();
  write_propagator_file(folder_.file("p.lime"), random_propagator({2, 4, 4, 6}, generator),
                        {.source = {1, 3, 2, 5}, .mass = 0.25}, {.precision = 32});
  expect_info(folder_.file("p.lime"),
              {"propagator (SciDAC, datatype Lattice)", "2 4 4 6 (x y z t)", "32 bits", "POINT_SOURCE at 1 3 2 5",
               "mass          0.25", "checksum      ok", "scidac-binary-data"});
}

TEST_F(InfoTest, NamesFormatsThatItCannotRead) {
  write_bytes(folder_.file("n"), "BEGIN_HEADER\nDATATYPE = 4D_SU3_GAUGE\nEND_HEADER\n");
  expect_info(folder_.file("n"), {"NERSC archive", "recognised", "this version cannot read it"});
  write_bytes(folder_.file("m"), std::string("\0\0\x4e\x87", 4) + std::string(96, '\0'));
  expect_info(folder_.file("m"), {"MILC v5", "this version cannot read it"});
  std::string openqcd(24 + 2 * 4 * 2 * 2 * 72 * 8, '\0');
  openqcd[0] = openqcd[8] = openqcd[12] = 2;
  openqcd[4] = 4;
  write_bytes(folder_.file("o"), openqcd);
  expect_info(folder_.file("o"), {"openQCD", "this version cannot read it"});
}

TEST_F(InfoTest, TellsWhichTasksReadHdf5) {
  write_bytes(folder_.file("h"), "\x89HDF\r\n\x1a\n");
  expect_info(folder_.file("h"), {"HDF5", "input of tasks of modules (quadrille help task)"});
}

TEST_F(InfoTest, LinksOffSu3AreAFailureWithAGoodChecksumToo) {
  auto generator = fresh_generator();
  HostLinks links = random_links({2, 4, 6, 2}, generator);
  links.data[7] *= 1.5;
  write_gauge_file(folder_.file("a.ildg"), links);
  expect_info(folder_.file("a.ildg"), {"checksum      ok", "NOT in SU(3)"}, false);
}

TEST_F(InfoTest, TellsOfLimeFilesWithoutFields) {
  expect_info(saved({{"xlf-info", "text", 0xc0}}), {"xlf-info", "neither a gauge field nor a propagator"});
}

TEST_F(InfoTest, BadFilesAreErrors) {
  std::ostringstream out;
  expect_error([&] { info(folder_.file("nothing"), out); }, {folder_.file("nothing"), "no such file"});
  write_bytes(folder_.file("text"), "just a text");
  expect_error([&] { info(folder_.file("text"), out); }, {"not a LIME file"});
  const std::vector<RawRecord> records = gauge_records();
  fs::resize_file(folder_.file("a.ildg"), records[5].data_at() + 100);
  expect_error([&] { info(folder_.file("a.ildg"), out); }, {"record 6 (ildg-binary-data)", "only 100 bytes follow"});
}

TEST_F(InfoTest, TellsOfEveryRealFile) {
  QUADRILLE_DATA_FILE(weak, "weak_field.lime");
  expect_info(weak, {"gauge field (ILDG)", "4 4 4 8", "64 bits", "ok (suma a2c41090, sumb 11193c39)", "0.9948041322667",
                     "01  0.994703733245", "0.379449348715", "294912  ildg-binary-data"});
  expect_info(*data_file("unity.lime"), {"xlf-info", "plaquette     1\n"});
  expect_info(*data_file("uneven.ildg"), {"4 6 8 10", "ok (suma fbfd1af9, sumb 3c572478)"});
  expect_info(*data_file("lat.sample.l4444.ildg"), {"32 bits", "lfn://USQCD/MILC", "0.59485015894715", "in SU(3)"});
  expect_info(*data_file("lat.sample.l4444.scidac"), {"SciDAC without ILDG records", "0.59485015894715"});
  expect_info(*data_file("lat.sample.l4444"), {"MILC v5"});
  expect_info(*data_file("t_nersc.cfg"), {"NERSC archive"});
}

}  // namespace
}  // namespace quadrille
