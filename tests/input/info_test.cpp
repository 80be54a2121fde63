#include "input/commands/info.h"

#include "input/files/gauge_file.h"
#include "input/files/propagator_file.h"
#include "tests/input/files/lime_testing.h"
#include "tests/input/host_propagator.h"
#include "tests/testing/plain_links.h"

#include <array>
#include <cstring>
#include <sstream>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using ::testing::Not;

class InfoTest : public ::testing::Test {
 protected:
  /// `error`: parts of what is thrown after all has been printed; none where nothing is.
  static void expect_info(const std::string& path, const std::vector<std::string>& parts,
                          const std::vector<std::string>& error = {}) {
    std::ostringstream out;
    if (error.empty()) {
      info(path, out);
    } else {
      expect_error([&] { info(path, out); }, error);
    }
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
              {"gauge field (ILDG)", "2 4 6 2 (x y z t)", "64 bits", "checksum      ok (suma", "plaquette", "zt  ",
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
              {"checksum      mismatch (the file says suma", "NOT in SU(3)", "site (0,0,0,0), direction x"},
              {"b.ildg", "record 6 (ildg-binary-data)", "checksum mismatch: the file says suma"});
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

TEST_F(InfoTest, ReadsTheLinksOfOtherFormats) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({2, 4, 6, 2}, generator);
  std::string bytes = nersc_bytes(links, {3, "IEEE64LITTLE"});
  write_bytes(folder_.file("n"), bytes);
  expect_info(folder_.file("n"), {"NERSC archive", "three rows", "2 4 6 2 (x y z t)", "64 bits (IEEE64LITTLE)",
                                  "checksum      ok (sum ", "zt  ", "|U U^+ - 1| at most", "in SU(3)"});
  bytes.replace(bytes.find("PLAQUETTE = ") + 12, 3, "9.9");
  write_bytes(folder_.file("n"), bytes);
  expect_info(folder_.file("n"), {"checksum      ok (sum ", "in SU(3)"}, {"the header says PLAQUETTE = "});
  write_bytes(folder_.file("m"), milc_bytes(links, true));
  expect_info(folder_.file("m"),
              {"MILC v5", "2 4 6 2 (x y z t)", "32 bits (big-endian)", "checksum      ok (sum29 ", "zt  ", "in SU(3)"});
}

TEST_F(InfoTest, ShowsTheHeaderOfANerscArchive) {
  const std::string head =
      "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = 4D_SU3_GAUGE\nDIMENSION_1 = 2\nDIMENSION_2 = 4\n"
      "DIMENSION_3 = 2\r\nDIMENSION_4 = 6\nLINK_TRACE = 0.25\nPLAQUETTE   =  0.5625 \nCHECKSUM = 7f00aa\n"
      "CREATOR = \x1b[31mA = B\nFLOATING_POINT = IEEE32BIG\nEND_HEADER\n";
  const std::string links(2 * 4 * 2 * 6 * 4 * 12 * 4, 'x');
  const std::string file = folder_.file("n");
  write_bytes(file, head + links);
  expect_info(
      file,
      {"NERSC archive", "two rows", "2 4 2 6 (x y z t)", "32 bits (IEEE32BIG)",
       "stated        PLAQUETTE = 0.5625\n              LINK_TRACE = 0.25\n              CHECKSUM = 7f00aa\n",
       "creator       \\x1b[31mA = B\n", "checksum      mismatch (the file says sum 007f00aa; ", "NOT in SU(3)"},
      {file, "checksum mismatch"});
  write_bytes(file, head + links.substr(1));
  expect_info(file, {"NERSC"}, {file, "18431 bytes follow the header", "2 x 4 x 2 x 6 lattice take 18432"});
  for (const auto& [from, to, problem] : {std::array{"DIMENSION_4 = 6", "DIMENSION_4 = six", "DIMENSION_4 = 'six'"},
                                          {"DIMENSION_4 = 6", "", "DIMENSION_4 = ''"},
                                          {"DIMENSION_4 = 6", "DIMENSION_4 = 99999999999", "it must be 1 to"},
                                          {"IEEE32BIG", "FLOAT", "FLOATING_POINT is 'FLOAT'"},
                                          {"4D_SU3_GAUGE", "4D_SU2", "DATATYPE is '4D_SU2'"},
                                          {"END_HEADER", "END", "no line END_HEADER"}}) {
    std::string changed = head;
    changed.replace(changed.find(from), std::string(from).size(), to);
    write_bytes(file, changed + links);
    expect_info(file, {"NERSC"}, {file, problem});
  }
}

TEST_F(InfoTest, ShowsTheHeaderOfAMilcFile) {
  for (const bool big : {false, true}) {
    std::string bytes;
    const auto put = [&](std::uint32_t word) {
      for (unsigned n = 0; n < 4; ++n) bytes += char(word >> 8 * (big ? 3 - n : n) & 0xff);
    };
    for (const std::uint32_t word : {20103, 2, 4, 2, 6}) put(word);
    bytes += "Thu Feb 12" + std::string(54, '\0');
    for (const std::uint32_t word : {0x0u, 0x12345678u, 0xabcdefu}) put(word);
    bytes += std::string(2 * 4 * 2 * 6 * 4 * 18 * 4, 'x');
    const std::string file = folder_.file("m");
    write_bytes(file, bytes);
    expect_info(file,
                {"MILC v5", "2 4 2 6 (x y z t)", big ? "big-endian" : "little-endian", "created       Thu Feb 12\n",
                 "stated        sum29 12345678, sum31 00abcdef\n", "checksum      mismatch", "NOT in SU(3)"},
                {file, "checksum mismatch"});
    write_bytes(file, bytes + "x");
    expect_info(file, {"MILC v5"}, {"27649 bytes follow the header", "take 27648"});
    write_bytes(file, bytes.substr(0, 50));
    expect_info(file, {"MILC v5"}, {"the file ends in its header"});
  }
}

TEST_F(InfoTest, ShowsAnOpenQcdFile) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({2, 4, 6, 2}, generator);
  const Lattice lattice(links.dims);
  const double plaquette = GaugeStore(lattice, links).observables().plaquette;
  write_bytes(folder_.file("o"), openqcd_bytes(links, plaquette));
  expect_info(folder_.file("o"), {"openQCD", "2 4 6 2 (x y z t)", "stated        plaquette = ", "in SU(3)",
                                  "checksum      missing (computed suma "});
  write_bytes(folder_.file("o"), openqcd_bytes(links, plaquette + 1e-9));
  expect_info(folder_.file("o"), {"openQCD"}, {folder_.file("o"), "the header says plaquette / 3 = "});
}

std::string csc_bytes(std::int64_t kind, std::int64_t n, std::int64_t elements) {
  std::array<std::int64_t, 16> head{};
  head[0] = 170915;
  head[2] = kind;
  head[3] = n;
  head[4] = 6;
  head[5] = elements;
  return std::string(reinterpret_cast<const char*>(head.data()), sizeof head) +
         std::string(std::size_t(8 * n + (kind == 0 ? 12 : 20) * elements), '\0');
}

TEST_F(InfoTest, TellsWhichTasksReadMatrices) {
  write_bytes(folder_.file("h"), "\x89HDF\r\n\x1a\n");
  expect_info(folder_.file("h"),
              {"HDF5", "read by tasks ", "matrix_product, ", "ri_mp2, ri_mp2_study", "density_matrix", "md_run"});
  for (const std::int64_t kind : {0, 1}) {
    write_bytes(folder_.file("a.csc"), csc_bytes(kind, 10, 25));
    expect_info(folder_.file("a.csc"),
                {"ELSI CSC", kind == 0 ? "real numbers" : "complex numbers", "size          10 x 10\n",
                 "nonzeros      25 (25 %)", "electrons     6\n", "density_matrix"});
  }
  std::ostringstream out;
  info(folder_.file("a.csc"), out);
  EXPECT_THAT(out.str(), Not(HasSubstr("ri_mp2"))) << "that reads HDF5 alone";
  write_bytes(folder_.file("b.csc"), csc_bytes(0, 10, 25) + "x");
  expect_info(folder_.file("b.csc"), {"ELSI CSC"},
              {"b.csc", "10 columns and 25 elements do not make a file of 509 bytes"});
}

TEST_F(InfoTest, EscapesWhatCouldSteerATerminal) {
  const std::string file = folder_.file("a\n\x1b[31m.csc");
  write_bytes(file, csc_bytes(0, 2, 1));
  expect_info(file, {"a\\n\\x1b[31m.csc\n"});
}

TEST_F(InfoTest, LinksOffSu3AreAFailureWithAGoodChecksumToo) {
  auto generator = fresh_generator();
  HostLinks links = random_links({2, 4, 6, 2}, generator);
  links.data[7] *= 1.5;
  write_gauge_file(folder_.file("a.ildg"), links);
  expect_info(folder_.file("a.ildg"), {"checksum      ok", "NOT in SU(3)"}, {"the links are not in SU(3)"});
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
                     "xy  0.994703733245", "0.379449348715", "294912  ildg-binary-data"});
  expect_info(*data_file("unity.lime"), {"xlf-info", "plaquette     1\n"});
  expect_info(*data_file("uneven.ildg"), {"4 6 8 10", "ok (suma fbfd1af9, sumb 3c572478)"});
  expect_info(*data_file("lat.sample.l4444.ildg"), {"32 bits", "lfn://USQCD/MILC", "0.59485015894715", "in SU(3)"});
  expect_info(*data_file("lat.sample.l4444.scidac"), {"SciDAC without ILDG records", "0.59485015894715"});
  expect_info(*data_file("lat.sample.l4444"),
              {"MILC v5", "4 4 4 4 (x y z t)", "Thu Feb 12 13:40:21 1998", "ok (sum29 02352c05, sum31 d137321d)",
               "plaquette     0.59485015894715", "in SU(3)"});
  expect_info(*data_file("t_nersc.cfg"),
              {"NERSC archive", "two rows", "4 4 4 4 (x y z t)", "IEEE32BIG", "PLAQUETTE = 0.0382422893\n",
               "LINK_TRACE = 0.4630322094\n", "CHECKSUM = 717938df\n", "creator       SZIN\n", "ok (sum 717938df)",
               "plaquette     0.03824228932", "in SU(3)"});
}

}  // namespace
}  // namespace quadrille
