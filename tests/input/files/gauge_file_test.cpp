// Gauge files that are good: read and written, and places where none can be written.
#include "gauge_file_testing.h"
#include "tests/testing/file_size_limit.h"

#include <nlohmann/json.hpp>

#include <bit>
#include <limits>
#include <set>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;

TEST_F(GaugeFileTest, RoundTripInDoubleIsExact) {
  for (const Dims& dims : {Dims{4, 6, 2, 8}, Dims{12, 4, 2, 6}, Dims{2, 2, 2, 2}}) {
    const HostLinks links = random_links(dims, generator_);
    write_gauge_file(folder_.file("a.ildg"), links);
    const GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
    EXPECT_EQ(read.links->host_links().data, links.data);
    EXPECT_EQ(read.info.dims, dims);
    EXPECT_EQ(read.info.precision, 64);
    EXPECT_EQ(read.info.format, "ildg");
    EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
    EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
  }
}

TEST_F(GaugeFileTest, TheOriginIsKeptAndOthersRecordsAreNoTrouble) {
  const HostLinks links = random_links({2, 4, 2, 4}, generator_);
  const LinkOrigin origin = {{"program", "Quadrille <&>"}, {"beta", "6.2"}, {"sweep", "300"}};
  write_gauge_file(folder_.file("a.ildg"), links, {.origin = origin});
  const GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
  EXPECT_EQ(read.info.origin, origin);
  EXPECT_EQ(read.links->host_links().data, links.data);
  for (const char* text : {"no XML with <origin>", "<gauge><origin>half",
                           "<other><origin><beta>5</beta></origin></other>", "<gauge><origin>6</origin></gauge>", ""}) {
    std::vector<RawRecord> records = raw_records(read_bytes(folder_.file("a.ildg")));
    find_raw(records, "scidac-record-xml").data = text;
    write_bytes(folder_.file("b.ildg"), raw_bytes(records));
    EXPECT_EQ(read_gauge_file(folder_.file("b.ildg")).info.origin, LinkOrigin{}) << text;
  }
  std::vector<RawRecord> records = raw_records(read_bytes(folder_.file("a.ildg")));
  find_raw(records, "scidac-record-xml").data = "<gauge><origin><beta>6\n\x1b[2J</beta></origin></gauge>";
  write_bytes(folder_.file("b.ildg"), raw_bytes(records));
  EXPECT_EQ(read_gauge_file(folder_.file("b.ildg")).info.origin.at(0).second, "6??[2J") << "nothing for a terminal";
}

TEST_F(GaugeFileTest, RoundTripInSingleRoundsOnce) {
  const HostLinks links = random_links({4, 2, 6, 8}, generator_);
  write_gauge_file(folder_.file("a.ildg"), links, {.precision = 32});
  const GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
  EXPECT_EQ(read.info.precision, 32);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
  const HostLinks found = read.links->host_links();
  for (std::size_t i = 0; i < links.data.size(); ++i) {
    EXPECT_EQ(found.data[i].real(), double(float(links.data[i].real())));
    EXPECT_EQ(found.data[i].imag(), double(float(links.data[i].imag())));
  }
  EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
}

TEST_F(GaugeFileTest, AFieldOfSeveralPieces) {
  HostLinks links({16, 12, 10, 8});  // 15,360 sites: more than the 8 MiB that are moved at once
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Complex& number : links.data) number = {uniform(generator_), uniform(generator_)};
  write_gauge_file(folder_.file("a.ildg"), links);
  const GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
  EXPECT_EQ(read.links->host_links().data, links.data);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
}

TEST_F(GaugeFileTest, EveryNumberStandsWhereIldgSays) {
  const Dims dims{2, 4, 6, 2};
  HostLinks links(dims);
  for (std::size_t i = 0; i < links.data.size(); ++i) links.data[i] = {double(i) + 0.25, -double(i)};
  write_gauge_file(folder_.file("a.ildg"), links);
  std::vector<RawRecord> records = raw_records(read_bytes(folder_.file("a.ildg")));
  const std::string& data = find_raw(records, "ildg-binary-data").data;
  for (int trial = 0; trial < 100; ++trial) {
    const auto below = [this](int n) { return int(generator_() % std::uint64_t(n)); };
    const int x = below(2), y = below(4), z = below(6), t = below(2), mu = below(4), row = below(3), column = below(3);
    const std::size_t site = std::size_t(((t * 6 + z) * 4 + y) * 2 + x);
    const std::size_t at = (((site * 4 + std::size_t(mu)) * 3 + std::size_t(row)) * 3 + std::size_t(column)) * 16;
    EXPECT_EQ(std::bit_cast<double>(big_number(data, at, 8)),
              links.link(std::int64_t(site), mu)[3 * row + column].real());
    EXPECT_EQ(std::bit_cast<double>(big_number(data, at + 8, 8)),
              links.link(std::int64_t(site), mu)[3 * row + column].imag());
  }
}

TEST_F(GaugeFileTest, RecordsAreThoseOfQio) {
  const std::vector<RawRecord> records = good_records();
  std::vector<std::string> types;
  std::vector<int> flags;
  for (const RawRecord& record : records) types.push_back(record.type), flags.push_back(record.flags);
  EXPECT_EQ(types, (std::vector<std::string>{"scidac-private-file-xml", "scidac-file-xml", "scidac-private-record-xml",
                                             "scidac-record-xml", "ildg-format", "ildg-data-lfn", "ildg-binary-data",
                                             "scidac-checksum"}));
  EXPECT_EQ(flags, (std::vector<int>{0x80, 0x40, 0x80, 0, 0, 0, 0, 0x40}));
  for (const RawRecord& record : records) {
    if (record.type == "ildg-binary-data") continue;
    EXPECT_EQ(record.data.find('\0'), record.data.size() - 1) << record.type;
  }
}

TEST_F(GaugeFileTest, RealFilesReadAndWriteBackTheSame) {
  QUADRILLE_DATA_FILE(path, "weak_field.lime");
  const GaugeFile read = read_gauge_file(path);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
  EXPECT_EQ(read.info.checksum.computed, (Checksum{0xa2c41090, 0x11193c39}));
  write_gauge_file(folder_.file("a.ildg"), *read.links);
  std::vector<RawRecord> theirs = raw_records(read_bytes(path)), ours = raw_records(read_bytes(folder_.file("a.ildg")));
  ASSERT_EQ(theirs.size(), ours.size());
  const auto undated = [](std::string xml) {
    const std::size_t from = xml.find("<date>"), to = xml.find("</date>");
    return to == std::string::npos ? xml : xml.erase(from, to - from);
  };
  for (std::size_t i = 0; i < theirs.size(); ++i) {
    EXPECT_EQ(theirs[i].type, ours[i].type);
    EXPECT_EQ(theirs[i].flags, ours[i].flags);
    if (theirs[i].type == "scidac-file-xml" || theirs[i].type == "scidac-record-xml") continue;  // the user's own
    EXPECT_EQ(undated(theirs[i].data), undated(ours[i].data)) << ours[i].type;
  }
}

TEST_F(GaugeFileTest, RealFilesHaveTheirKnownObservables) {
  QUADRILLE_DATA_FILE(table, "expected.json");
  const auto expected = nlohmann::json::parse(read_bytes(table));
  std::set<std::string> seen;
  for (const auto& known : expected["cases"]) {
    const std::string name = known["file"];
    if (!name.ends_with("ildg") && !name.ends_with("lime")) continue;
    if (!seen.insert(name).second) continue;
    const GaugeFile read = read_gauge_file(*data_file(name));
    EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok) << name;
    EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
    const GaugeObservables found = read.links->observables();
    EXPECT_NEAR(found.plaquette, known["plaquette"].get<double>(), 1e-13) << name;
    EXPECT_NEAR(found.link_trace, known["link_trace"].get<double>(), 1e-13) << name;
    std::size_t plane = 0;
    for (const char* digits : {"01", "02", "03", "12", "13", "23"})
      EXPECT_NEAR(found.planes[plane++], known["planes"][digits].get<double>(), 1e-13) << name;
  }
  EXPECT_GE(seen.size(), 3u);
}

TEST_F(GaugeFileTest, ScidacAndIldgFormsOfOneLatticeAgree) {
  QUADRILLE_DATA_FILE(ildg, "lat.sample.l4444.ildg");
  const GaugeFile one = read_gauge_file(ildg), other = read_gauge_file(*data_file("lat.sample.l4444.scidac"));
  EXPECT_EQ(one.links->host_links().data, other.links->host_links().data);
  EXPECT_EQ(one.info.format, "ildg");
  EXPECT_EQ(other.info.format, "scidac");
  EXPECT_EQ(one.info.precision, 32);
  EXPECT_EQ(other.info.precision, 32);
  EXPECT_EQ(other.info.dims, (Dims{4, 4, 4, 4}));
  EXPECT_EQ(one.info.lfn, "lfn://USQCD/MILC/test/lat.sample.l4444");
  EXPECT_THAT(one.info.file_xml, HasSubstr("MILC ILDG archival"));
}

TEST_F(GaugeFileTest, OtherOrdersOfRecordsRead) {
  QUADRILLE_DATA_FILE(unity, "unity.lime");
  const GaugeFile read = read_gauge_file(unity);
  EXPECT_EQ(read.info.dims, (Dims{4, 4, 4, 4}));
  EXPECT_EQ(read.links->observables().plaquette, 1.0);
  EXPECT_THAT(read.info.xlf_info, HasSubstr("hmcversion = 5.2.0"));
  EXPECT_EQ(read_gauge_file(*data_file("uneven.ildg")).info.dims, (Dims{4, 6, 8, 10}));
}

TEST_F(GaugeFileTest, FormatInAMessageOfItsOwnAndNoChecksum) {
  std::vector<RawRecord> all = good_records();
  std::vector<RawRecord> records{find_raw(all, "ildg-format"), find_raw(all, "ildg-binary-data")};
  records[0].data =
      "<?xml version='1.0'?><!-- x --><q:ildgFormat xmlns:q='http://www.lqcd.org/ildg'><q:version>1.0</q:version>"
      "<q:field> su3gauge</q:field><q:precision>\n64 </q:precision><q:lx> 2 </q:lx><q:ly>4</q:ly><q:lz>6</q:lz>"
      "<q:lt>2</q:lt></q:ildgFormat>";
  for (RawRecord& record : records) record.flags = 0xc0;
  const GaugeFile read = read_gauge_file(saved(records));
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::missing);
  EXPECT_EQ(read.info.dims, (Dims{2, 4, 6, 2}));
}

TEST_F(GaugeFileTest, WritingRefusesWhatCannotBeRead) {
  HostLinks links = random_links({2, 2, 2, 4}, generator_);
  links.link(3, 2)[7] = {1, std::numeric_limits<double>::quiet_NaN()};
  expect_error([&] { write_gauge_file(folder_.file("a.ildg"), links); },
               {folder_.file("a.ildg"), "site (1,1,0,0), direction z (row 2, column 1)", "nan"});
  links.link(3, 2)[7] = 1e300;
  expect_error([&] { write_gauge_file(folder_.file("a.ildg"), links, {.precision = 32}); },
               {"32-bit", "beyond 3.4e38"});
  expect_error([&] { write_gauge_file(folder_.file("a.ildg"), links, {.precision = 16}); }, {"16-bit"});
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(GaugeFileTest, UnwritablePlacesAndAFullDisk) {
  const HostLinks links = random_links({4, 4, 4, 4}, generator_);
  expect_error([&] { write_gauge_file(folder_.file("missing/a.ildg"), links); },
               {folder_.file("missing/a.ildg"), "no such file or directory"});
  fs::create_directory(folder_.file("sub"));
  expect_error([&] { write_gauge_file(folder_.file("sub"), links); }, {folder_.file("sub"), "is a directory"});
  fs::remove(folder_.file("sub"));
  if (fs::exists("/dev/full"))
    expect_error([&] { write_gauge_file("/dev/full", links); }, {"/dev/full", "no space left on device"});
  // A limit on the file's size stops writing inside the links.
  const auto write = [&] {
    const FileSizeLimit full(50000);
    write_gauge_file(folder_.file("a.ildg"), links);
  };
  expect_error(write, {folder_.file("a.ildg"), "file too large"});
  EXPECT_EQ(folder_.count(), 0u);
}

TEST_F(GaugeFileTest, OfSeveralFieldsTheFirstIsTaken) {
  std::vector<RawRecord> records = good_records(), again = good_records();
  records.insert(records.end(), again.begin() + 2, again.end());
  LogCapture captured;
  const GaugeFile read = read_gauge_file(saved(records));
  EXPECT_EQ(read.info.data.number, 7);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
  EXPECT_THAT(captured.text(), HasSubstr("2 gauge fields in this file; the first is used"));
}

}  // namespace
}  // namespace quadrille
