// Gauge files that are cut, spoilt or hold something else: each error names the place and what would be right.
#include "core/su3/su3_project.h"
#include "gauge_file_testing.h"

#include <bit>
#include <limits>
#include <set>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using ::testing::Not;

class GaugeFileBadTest : public GaugeFileTest {};

TEST_F(GaugeFileBadTest, CutAnywhereIsAnErrorThatNamesThePlace) {
  const std::vector<RawRecord> records = good_records();
  const std::string path = folder_.file("good.ildg");
  std::set<std::size_t> cuts;
  for (const RawRecord& record : records) {
    for (std::size_t n = 0; n <= 144; n += n < 20 || n > 136 ? 1 : 9) cuts.insert(record.header + n);
    for (const double part : {0.1, 0.5, 0.9})
      cuts.insert(record.data_at() + std::size_t(part * double(record.data.size())));
    for (std::size_t n = record.data_at() + record.data.size() - 1; n <= record.end(); ++n) cuts.insert(n);
  }
  cuts.erase(records.back().end());
  for (auto cut = cuts.rbegin(); cut != cuts.rend(); ++cut) {
    fs::resize_file(path, *cut);
    const auto error = expect_error([&path] { read_gauge_file(path); }, {path});
    ASSERT_TRUE(error) << *cut;
    // A cut behind the first message leaves a good LIME file without a gauge field.
    if (*cut == records[2].header) {
      EXPECT_THAT(error->what(), HasSubstr("no gauge field in this file"));
      continue;
    }
    EXPECT_GE(error->where().byte, 0) << *cut << ": " << error->what();
    EXPECT_EQ(error->where().record.empty(), *cut < 4) << *cut;
  }
}

TEST_F(GaugeFileBadTest, ALengthThatIsNotTheFields) {
  for (const int change : {-576, -8, 8, 576}) {
    std::vector<RawRecord> records = good_records();
    RawRecord& data = find_raw(records, "ildg-binary-data");
    data.data.resize(data.data.size() + std::size_t(std::ptrdiff_t(change)));
    expect_bad(records,
               {"record 7 (ildg-binary-data), byte " + std::to_string(data_at(records)),
                "has " + std::to_string(55296 + change) + " bytes", "2x4x6x2 lattice in 64 bits take 55296 bytes"});
  }
}

TEST_F(GaugeFileBadTest, APrecisionThatIsNotTheDatas) {
  std::vector<RawRecord> records = good_records(32);
  replace_text(find_raw(records, "ildg-format").data, "<precision>32", "<precision>64");
  expect_bad(records, {"(ildg-binary-data)", "take 55296 bytes; the length is right for 32 bits"});
}

TEST_F(GaugeFileBadTest, ExtentsBeyondAnyFile) {
  std::vector<RawRecord> records = good_records();
  std::string& format = find_raw(records, "ildg-format").data;
  for (const std::string extent : {"<lx>2", "<ly>4", "<lz>6", "<lt>2"})
    replace_text(format, extent, extent.substr(0, 4) + "2000000000");
  records.erase(records.begin(), records.begin() + 2);  // whose extents would disagree
  expect_bad(records, {"(ildg-binary-data)", "more than any file can hold"});
}

TEST_F(GaugeFileBadTest, WrongFormatRecords) {
  const auto spoilt = [this](const std::string& from, const std::string& to, std::vector<std::string> parts) {
    std::vector<RawRecord> records = good_records();
    replace_text(find_raw(records, "ildg-format").data, from, to);
    parts.push_back("record 5 (ildg-format), byte");
    expect_bad(records, parts);
  };
  spoilt("<precision>64", "<precision>16", {"<precision> is 16; it should be 32 or 64"});
  spoilt("su3gauge", "u1gauge", {"<field> is 'u1gauge'; only su3gauge"});
  spoilt("<lx>2</lx>", "<lx>two</lx>", {"<ildgFormat/lx> is 'two'"});
  spoilt("<lx>2</lx>", "", {"<ildgFormat/lx> is missing"});
  spoilt("<lx>2</lx>", "<lx>99999999999</lx>", {"99999999999"});
  spoilt("</ildgFormat>", "", {"cannot be read"});
  spoilt("<lz>6", "<lz>8", {"2x4x8x2 here but 2x4x6x2 in scidac-private-file-xml"});
  for (const std::string extent : {"5", "0", "-2"})
    spoilt("<lz>6", "<lz>" + extent, {"its z extent " + extent + " is not an even number", "All extents must be even"});
}

/// Data of a fixed size: every wrong length is an error. Texts: an error where the length crosses a multiple of 8, else
/// a warning where the padding holds a part of the text. What cannot be told, and does no harm, is a length that counts
/// one NUL less or more after the text: QIO counts one, other programs none.
TEST_F(GaugeFileBadTest, ALengthThatIsWrongByOneOrTwo) {
  std::vector<RawRecord> records = good_records();
  records.push_back({"xlf-info", "plaquette = 0.5", 0xc0});  // 15 bytes
  int told = 0, hidden = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const int change : {-1, -2, 1}) {
      SCOPED_TRACE(records[i].type + ": " + std::to_string(change));
      const std::string path = folder_.file("a.ildg"), name = "(" + records[i].type + ")";
      write_bytes(path, with_length_changed(records, i, change));
      LogCapture captured;
      const auto read = [&path] { read_gauge_file(path); };
      if (records[i].type == "ildg-binary-data" || !padding_hides(records[i], change)) {
        expect_error(read, {path, "record "});
      } else if (padding_tells(records[i], change)) {
        // A cut end of an XML record that has to be read is an error besides.
        if (const std::string& type = records[i].type;
            type == "ildg-format" || type == "scidac-checksum" || type == "scidac-private-file-xml")
          expect_error(read, {path, name, "this XML cannot be read"});
        else
          EXPECT_NO_THROW(read());
        EXPECT_THAT(captured.text(), HasSubstr(name));
        EXPECT_THAT(captured.text(), HasSubstr("the padding is not zero"));
        ++told;
      } else {
        EXPECT_NO_THROW(read());
        EXPECT_EQ(captured.text(), "");
        ++hidden;
      }
    }
  }
  EXPECT_GE(told, 2);
  EXPECT_GE(hidden, 1);
}

TEST_F(GaugeFileBadTest, MissingRecords) {
  std::vector<RawRecord> records = good_records();
  const auto without = [&records](const std::string& type) {
    std::vector<RawRecord> rest;
    for (const RawRecord& record : records)
      if (record.type != type) rest.push_back(record);
    one_message(rest);
    return rest;
  };
  expect_bad(without("ildg-format"), {"(ildg-binary-data), byte", "no ildg-format record"});
  expect_bad(without("ildg-binary-data"), {"no gauge field in this file", "but has scidac-private-file-xml, "});
  const GaugeFile read = read_gauge_file(saved(without("scidac-checksum")));
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::missing);
}

TEST_F(GaugeFileBadTest, ScidacFormsThatAreNotGaugeFields) {
  std::vector<RawRecord> records = good_records();
  records.erase(records.begin() + 4, records.begin() + 6);  // ildg-format and the name
  find_raw(records, "ildg-binary-data").type = "scidac-binary-data";
  EXPECT_EQ(read_gauge_file(saved(records)).info.format, "scidac");
  const auto spoilt = [&](const std::string& type, const std::string& from, const std::string& to,
                          const std::vector<std::string>& parts) {
    std::vector<RawRecord> bad = records;
    replace_text(find_raw(bad, type).data, from, to);
    expect_bad(bad, parts);
  };
  const std::string record = "scidac-private-record-xml", file = "scidac-private-file-xml";
  spoilt(record, "<precision>D", "<precision>I",
         {"(scidac-private-record-xml)", "neither F (32 bits) nor D (64 bits)"});
  spoilt(record, "<datacount>4", "<datacount>1", {"1 x 144 bytes per site, not a gauge field"});
  spoilt(record, "<recordtype>0", "<recordtype>1", {"not a field on the whole lattice"});
  spoilt(record, "<typesize>144</typesize>", "", {"<scidacRecord/typesize> is missing"});
  spoilt(file, "2 4 6 2 ", "2 4 6", {"(scidac-private-file-xml)", "four extents"});
  spoilt(file, "2 4 6 2 ", "2 4 6 3", {"(scidac-private-file-xml)", "All extents must be even"});
  spoilt(file, "<volfmt>0", "<volfmt>1", {"(scidac-private-file-xml)", "spread over several files"});
  spoilt(file, "2 4 6 2 ", "2 4 6 4", {"has 55296 bytes", "take 110592 bytes"});
  std::vector<RawRecord> bare(records.begin() + 2, records.end());
  expect_bad(bare, {"no scidac-private-file-xml"});
  bare.erase(bare.begin());
  one_message(bare);
  expect_bad(bare, {"no scidac-private-record-xml"});
}

TEST_F(GaugeFileBadTest, AChecksumThatDoesNotMatch) {
  std::vector<RawRecord> records = good_records();
  std::string& data = find_raw(records, "ildg-binary-data").data;
  data[5000] = char(data[5000] ^ 1);  // the last bits of a mantissa: only the checksum can tell
  data[5007] = char(data[5007] ^ 1);
  const auto error = expect_bad(
      records, {"record 7 (ildg-binary-data)", "checksum mismatch", "suma", "sumb", "gauge.verify_checksum: false"});
  ASSERT_TRUE(error);
  LogCapture captured;
  const GaugeFile read = read_gauge_file(folder_.file("a.ildg"), {.verify_checksum = false});
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::mismatch);
  EXPECT_FALSE(read.info.checksum.computed == read.info.checksum.stored);
  EXPECT_THAT(captured.text(), HasSubstr("checksum mismatch"));
  EXPECT_THAT(captured.text(), Not(HasSubstr("verify_checksum")));
}

TEST_F(GaugeFileBadTest, EitherHalfOfTheChecksumCounts) {
  for (const std::string half : {"suma", "sumb"}) {
    std::vector<RawRecord> records = good_records();
    std::string& xml = find_raw(records, "scidac-checksum").data;
    const std::size_t digit = xml.find("<" + half + ">") + 6 + 3;
    xml[digit] = xml[digit] == '0' ? '1' : '0';
    expect_bad(records, {"checksum mismatch"});
  }
  std::vector<RawRecord> records = good_records();
  find_raw(records, "scidac-checksum").data = "<scidacChecksum><suma>12</suma></scidacChecksum>";
  expect_bad(records, {"(scidac-checksum)", "<scidacChecksum/sumb> is missing"});
}

TEST_F(GaugeFileBadTest, NumbersThatAreNotFinite) {
  for (const int precision : {32, 64}) {
    for (const double value : {std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()}) {
      std::vector<RawRecord> records = good_records(precision);
      std::string& data = find_raw(records, "ildg-binary-data").data;
      // Site (1,2,5,1), direction y, row 2, column 0, imaginary part.
      const std::size_t site = ((1 * 6 + 5) * 4 + 2) * 2 + 1, bytes = std::size_t(precision) / 8;
      const std::size_t at = ((site * 4 + 1) * 18 + 13) * bytes;
      if (precision == 64)
        put_big_number(data, at, std::bit_cast<std::uint64_t>(value), 8);
      else
        put_big_number(data, at, std::bit_cast<std::uint32_t>(float(value)), 4);
      records.pop_back();
      records.back().flags = 0x40;
      const auto error = expect_bad(records, {"(ildg-binary-data), byte " + std::to_string(data_at(records) + at),
                                              "site (1,2,5,1), direction y (row 2, column 0)", "should be finite"});
      ASSERT_TRUE(error);
      EXPECT_EQ(error->code(), ErrorCode::numerical);
    }
  }
}

TEST_F(GaugeFileBadTest, LinksThatAreNotInSu3) {
  for (const int precision : {32, 64}) {
    HostLinks links = random_links({4, 2, 2, 4}, generator_);
    const double size = 3 * link_tolerance(precision);
    for (int i = 0; i < 9; ++i) links.link(43, 3)[i] *= 1 + size;  // site (3,0,1,2)
    write_gauge_file(folder_.file("a.ildg"), links, {.precision = precision});
    GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
    const auto error =
        expect_error([&read] { check_links(read.info, read.links->unitarity()); },
                     {folder_.file("a.ildg"), "(ildg-binary-data), byte", "|U U^+ - 1|", "site (3,0,1,2), direction t",
                      precision == 32 ? "at most 1e-05" : "at most 1e-10", "gauge.reunitarize: true"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->where().byte, std::int64_t(read.info.data.data_byte) + (43 * 4 + 3) * 18 * precision / 8);
    (void)read.links->project();
    EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
  }
}

TEST_F(GaugeFileBadTest, UnitaryLinksOfAnotherDeterminant) {
  HostLinks links = random_links({2, 2, 2, 2}, generator_);
  for (int i = 0; i < 9; ++i) links.link(6, 0)[i] *= std::polar(1.0, 1e-8);
  write_gauge_file(folder_.file("a.ildg"), links);
  const GaugeFile read = read_gauge_file(folder_.file("a.ildg"));
  expect_error([&read] { check_links(read.info, read.links->unitarity()); },
               {"|det U - 1|", "site (0,1,1,0), direction x"});
}

TEST_F(GaugeFileBadTest, APropagatorIsNoGaugeField) {
  std::vector<RawRecord> records = good_records();
  records.erase(records.begin() + 4, records.begin() + 6);
  find_raw(records, "ildg-binary-data").type = "scidac-binary-data";
  std::string& xml = find_raw(records, "scidac-private-record-xml").data;
  replace_text(xml, "<typesize>144", "<typesize>2304");
  replace_text(xml, "<datacount>4", "<datacount>1");
  expect_bad(records, {"1 x 2304 bytes per site, not a gauge field: four links in 64 bits take 4 x 144"});
}

}  // namespace
}  // namespace quadrille
