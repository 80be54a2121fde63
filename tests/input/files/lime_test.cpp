#include "input/files/lime/lime.h"

#include "input/files/checksum.h"
#include "input/files/lime/xml.h"
#include "lime_testing.h"

#include <omp.h>

#include <bit>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::AnyOf;
using ::testing::HasSubstr;

/// Three records in two messages, with 5, 0 and 3 bytes of padding.
std::string small_file() {
  return raw_bytes({{"first-record", "abc", 0x80}, {"second", std::string(16, 'x'), 0x40}, {"alone", "hello", 0xc0}});
}

class LimeTest : public ::testing::Test {
 protected:
  std::string saved(const std::string& bytes) const {
    write_bytes(folder_.file("a.lime"), bytes);
    return folder_.file("a.lime");
  }
  std::optional<Error> expect_bad(const std::string& bytes, const std::vector<std::string>& parts) const {
    const std::string path = saved(bytes);
    std::vector<std::string> all = parts;
    all.push_back(path);
    return expect_error([&path] { scan_lime(path); }, all);
  }
  TemporaryFolder folder_;
};

TEST_F(LimeTest, ScansWhatTheFormatSays) {
  const std::vector<LimeRecord> records = scan_lime(saved(small_file()));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0].type, "first-record");
  EXPECT_EQ(records[0].length, 3u);
  EXPECT_EQ(records[0].padding, 5u);
  EXPECT_TRUE(records[0].begins_message);
  EXPECT_FALSE(records[0].ends_message);
  EXPECT_EQ(records[1].header_byte, 152u);
  EXPECT_EQ(records[1].data_byte, 296u);
  EXPECT_EQ(records[1].padding, 0u);
  EXPECT_EQ(records[1].message, 1);
  EXPECT_EQ(records[2].number, 3);
  EXPECT_EQ(records[2].message, 2);
  const LimeInput input(folder_.file("a.lime"));
  EXPECT_EQ(input.text(records[2]), "hello");
  EXPECT_EQ(input.find("second")->number, 2);
  EXPECT_EQ(input.find("second", 2), nullptr);
  char part[3] = {};
  input.read(records[2], 1, part, 3);
  EXPECT_EQ(std::string(part, 3), "ell");
}

TEST_F(LimeTest, EveryCutIsAnErrorThatNamesThePlace) {
  const std::string whole = small_file();
  const std::string path = saved(whole);
  for (std::size_t length = whole.size() - 1; length >= 4; --length) {
    fs::resize_file(path, length);
    if (length == 312) {  // after the first message: a whole file
      EXPECT_NO_THROW(scan_lime(path));
      continue;
    }
    const std::optional<Error> error = expect_error([&path] { scan_lime(path); }, {path, "record ", "byte "});
    ASSERT_TRUE(error) << length;
    const std::size_t record = length <= 152 ? 1 : length <= 312 ? 2 : 3;
    EXPECT_EQ(error->where().record.substr(0, 1), std::to_string(record)) << length << ": " << error->what();
    EXPECT_LE(error->where().byte, std::int64_t(length));
  }
}

TEST_F(LimeTest, CutsSayWhatIsMissing) {
  const std::string whole = small_file();
  expect_bad(
      whole.substr(0, 152 + 100),
      {"record 2, byte 152", "header of this record is cut off: it takes 144 bytes, but the file has 252 bytes"});
  expect_bad(whole.substr(0, 300), {"record 2 (second), byte 160",
                                    "length is 16 bytes, but only 4 bytes follow its header", "ends at byte 300"});
  expect_bad(whole.substr(0, 150), {"record 1 (first-record), byte 147", "inside the padding", "5 bytes of padding"});
  expect_bad(whole.substr(0, 152), {"record 1 (first-record), byte 152", "message 1 is not finished"});
  expect_bad(whole + "ab", {"record 4, byte 464", "2 bytes after the last record belong to no record"});
  expect_bad(whole + "abcdefgh", {"record 4, byte 464", "the magic number is 61626364, but it should be 456789ab"});
}

TEST_F(LimeTest, WrongLengthFields) {
  const auto with_length = [](std::size_t record, std::uint64_t length) {
    std::string bytes = small_file();
    put_big_number(bytes, raw_records(bytes)[record].header + 8, length, 8);
    return bytes;
  };
  // Too long and too short inside the file: the next header is not where the length says.
  expect_bad(with_length(0, 3 + 8), {"record 2, byte 160", "no LIME header", "length of the previous record"});
  expect_bad(with_length(1, 16 - 8), {"record 3, byte 304", "no LIME header"});
  expect_bad(with_length(2, 0), {"record 4, byte 456", "no LIME header"});
  // Beyond the end, also where 64 bits overflow.
  for (const std::uint64_t length :
       {std::uint64_t(1000), ~std::uint64_t(0), ~std::uint64_t(0) - 7, std::uint64_t(1) << 63, ~std::uint64_t(0) - 455})
    expect_bad(with_length(1, length),
               {"record 2 (second), byte 160", "length is " + std::to_string(length) + " bytes"});
}

/// Texts of every length modulo 8, as XML and as plain text, with QIO's NUL and without it. What cannot be told is a
/// length that counts a NUL too few or too many after the text.
TEST_F(LimeTest, LengthsThatThePaddingHides) {
  int told = 0, hidden = 0;
  for (const std::string type : {"xlf-info", "scidac-record-xml", "ildg-format", "ildg-data-lfn"}) {
    for (std::size_t length = 8; length < 16; ++length) {
      for (const bool nul : {false, true}) {
        const RawRecord record{type, "<" + std::string(length - 2, 'x') + ">" + (nul ? std::string(1, '\0') : ""),
                               0xc0};
        const std::vector<RawRecord> records{record, {"alone", "hello", 0xc0}};
        EXPECT_EQ(scan_lime(saved(raw_bytes(records)))[0].warning, "");
        for (const int change : {-1, -2, 1}) {
          SCOPED_TRACE(type + " of " + std::to_string(record.data.size()) + ": " + std::to_string(change));
          const std::string bytes = with_length_changed(records, 0, change);
          if (!padding_hides(record, change)) {
            expect_bad(bytes, {"record 2, byte", "no LIME header"});
            continue;
          }
          const std::vector<LimeRecord> found = scan_lime(saved(bytes));
          const std::string field = "length field " + std::to_string(record.data.size() + std::size_t(change));
          EXPECT_EQ(found[1].warning, "");
          if (padding_tells(record, change)) {
            EXPECT_THAT(found[0].warning, HasSubstr("the padding is not zero: is the " + field + " too short?"));
            EXPECT_EQ(found[0].warning.find("the XML does not end with '>'") != std::string::npos,
                      type == "scidac-record-xml" || type == "ildg-format");
            ++told;
          } else {
            EXPECT_EQ(found[0].warning, "");
            ++hidden;
          }
        }
      }
    }
  }
  EXPECT_GT(told, 0);
  EXPECT_GT(hidden, 0);
}

TEST_F(LimeTest, XmlThatIsCutWithoutATraceInThePadding) {
  const auto warning = [this](const std::string& type, const std::string& text) {
    return scan_lime(saved(raw_bytes({{type, text, 0xc0}})))[0].warning;
  };
  EXPECT_THAT(warning("scidac-record-xml", "<a>b</a"), HasSubstr("the XML does not end with '>'"));
  EXPECT_THAT(warning("scidac-checksum", " <" + std::string(600, 'a')), HasSubstr("length field 602"));
  EXPECT_EQ(warning("scidac-record-xml", "<a>" + std::string(600, 'b') + "</a>\n \n" + std::string(3, '\0')), "");
  EXPECT_EQ(warning("scidac-record-xml", "no XML at all"), "");
  EXPECT_EQ(warning("scidac-record-xml", ""), "");
  EXPECT_EQ(warning("xlf-info", "<a>b</a"), "");
}

TEST_F(LimeTest, WrongHeaders) {
  const auto with = [](std::size_t at, const std::string& patch) {
    std::string bytes = small_file();
    bytes.replace(at, patch.size(), patch);
    return bytes;
  };
  const std::size_t second = 152;
  expect_bad(with(second, "JUNK"), {"record 2, byte 152", "magic number is 4a554e4b"});
  expect_bad(with(second + 5, "\2"), {"record 2, byte 156", "LIME version 2", "only version 1"});
  expect_bad(with(second + 16, std::string(128, '\0')), {"record 2, byte 168", "has no type"});
  expect_bad(with(second + 16, std::string(128, 'a')), {"record 2", "fills all 128 bytes"});
  expect_bad(with(second + 16, "\x01"), {"record 2, byte 168", "not printable"});
  expect_bad(with(second + 100, "junk"), {"record 2 (second), byte 174", "not padded with NULs"});
}

TEST_F(LimeTest, WrongFlags) {
  const auto with_flags = [](std::size_t at, unsigned char flags) {
    std::string bytes = small_file();
    bytes[at + 6] = char(flags);
    return bytes;
  };
  expect_bad(with_flags(0, 0x00), {"record 1 (first-record), byte 6", "should have the message-begin flag"});
  expect_bad(with_flags(152, 0xc0), {"record 2 (second), byte 158", "begins a message, but message 1 is not finished"});
  expect_bad(with_flags(312, 0x40), {"record 3 (alone), byte 318", "should have the message-begin flag"});
  expect_bad(with_flags(312, 0x80), {"record 3 (alone)", "message 2 is not finished"});
}

TEST_F(LimeTest, WhatIsNotLime) {
  expect_bad("", {"byte 0", "the file is empty"});
  expect_bad("some text that is no lattice", {"byte 0", "not a LIME file", "73 6f 6d 65"});
  expect_bad("BEGIN_HEADER\nDATATYPE = 4D_SU3_GAUGE\nEND_HEADER\n", {"NERSC archive", "a LIME file is needed here"});
  expect_bad(std::string("\x87\x4e\0\0", 4) + std::string(100, '\0'), {"MILC v5", "a LIME file is needed here"});
  expect_error([this] { scan_lime(folder_.file("nothing")); }, {folder_.file("nothing"), "no such file"});
  fs::create_directory(folder_.file("sub"));
  expect_error([this] { scan_lime(folder_.file("sub")); }, {folder_.file("sub"), "this is a folder"});
  expect_error([this] { scan_lime(saved(small_file()) + "/a"); }, {"cannot read it: Not a directory"});
  expect_error([] { scan_lime(""); }, {"the name of the file is empty"});
}

TEST_F(LimeTest, AFileThatNobodyMayRead) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  const std::string path = saved(small_file());
  fs::permissions(path, fs::perms(0));
  expect_error([&path] { scan_lime(path); }, {path, "Permission denied"});
}

TEST_F(LimeTest, WritesTheBytesOfTheFormat) {
  LimeOutput file(folder_.file("b.lime"), LimeMover::builtin);
  file.record("first-record", "abc", true, false);
  file.begin_record("second", 16, false, true);
  file.write("xxxxxx", 6);
  file.write("xxxxxxxxxx", 10);
  file.end_record();
  file.record("alone", "hello", true, true);
  EXPECT_FALSE(fs::exists(folder_.file("b.lime")));
  file.commit();
  EXPECT_EQ(read_bytes(folder_.file("b.lime")), small_file());
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(LimeTest, TheWriterKeepsTheRules) {
  const auto broken = [this](const std::function<void(LimeOutput&)>& body, const std::string& part) {
    const auto error = expect_error(
        [&] {
          LimeOutput file(folder_.file("b.lime"), LimeMover::builtin);
          body(file);
        },
        {part});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::internal);
    EXPECT_EQ(folder_.count(), 0u);
  };
  broken([](LimeOutput& f) { f.record("a", "x", false, true); }, "message-begin");
  broken([](LimeOutput& f) { f.record("a", "x", true, false), f.record("b", "x", true, true); }, "message-begin");
  broken([](LimeOutput& f) { f.record("a", "x", true, false), f.commit(); }, "not finished");
  broken([](LimeOutput& f) { f.commit(); }, "not finished");
  broken([](LimeOutput& f) { f.begin_record("a", 2, true, true), f.write("xyz", 3); }, "more data");
  broken([](LimeOutput& f) { f.begin_record("a", 2, true, true), f.write("x", 1), f.end_record(); }, "less data");
  broken([](LimeOutput& f) { f.record(std::string(128, 'a'), "x", true, true); }, "127 characters");
}

TEST_F(LimeTest, ReadingBeyondARecordIsRefused) {
  const LimeInput input(saved(small_file()));
  char byte[8];
  expect_error([&] { input.read(input.records()[0], 1, byte, 3); }, {"record 1 (first-record)", "3 bytes from byte 1"});
  expect_error([&] { input.read(input.records()[0], ~std::uint64_t(0), byte, 2); }, {"record 1 (first-record)"});
}

TEST_F(LimeTest, ANewMoverIsRefusedWhenItIsNotThere) {
  if (lime_has_clime()) GTEST_SKIP() << "built with c-lime";
  expect_error([this] { LimeInput(saved(small_file()), LimeMover::clime); },
               {"built without c-lime", "QUADRILLE_LIME"});
}

/// CRC-32 bit by bit, from the polynomial's definition (IEEE 802.3, reflected).
std::uint32_t naive_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  return ~crc;
}

TEST(ChecksumTest, IsTheDefinitionInAnyOrder) {
  auto generator = fresh_generator();
  const std::size_t site_bytes = 36, sites = 100;
  std::string data(site_bytes * sites, '\0');
  for (char& c : data) c = char(generator());
  Checksum expected;
  for (std::size_t r = 0; r < sites; ++r) {
    const std::uint32_t crc = naive_crc(data.substr(r * site_bytes, site_bytes));
    expected.a ^= std::rotl(crc, int(r % 29));
    expected.b ^= std::rotl(crc, int(r % 31));
  }
  const int before = omp_get_max_threads();
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    EXPECT_EQ(checksum_of_sites(data.data(), site_bytes, 0, sites), expected);
    Checksum parts = checksum_of_sites(data.data() + 40 * site_bytes, site_bytes, 40, 60);
    parts.add(checksum_of_sites(data.data(), site_bytes, 0, 40));
    EXPECT_EQ(parts, expected);
  }
  omp_set_num_threads(before);
}

TEST(XmlTest, FindsElementsWhateverTheirDress) {
  const std::string text =
      "<?xml version=\"1.0\"?>\n<!-- a comment --><i:ildgFormat xmlns:i=\"http://x\" a='1'>\n <!-- lx --> <i:lx "
      "unit='1'>\n"
      " 16 </i:lx><deep><deeper>a &lt; b</deeper></deep><empty/></i:ildgFormat>\n";
  const Xml xml(text + std::string(3, '\0'), {.file = "f", .byte = 100});
  EXPECT_EQ(xml.integer("ildgFormat/lx"), 16);
  EXPECT_EQ(xml.text("//deeper"), "a < b");
  EXPECT_FALSE(xml.has("ildgFormat/ly"));
  EXPECT_FALSE(xml.has("lx"));
  expect_error([&] { xml.text("ildgFormat/ly"); }, {"f: byte 100", "<ildgFormat/ly> is missing"});
  expect_error([&] { xml.text("ildgFormat/empty"); }, {"<ildgFormat/empty> is empty"});
  expect_error([&] { xml.integer("//deeper"); }, {"'a < b'", "whole number"});
  expect_error([&] { xml.integer("//lx", 17); }, {"'16'", "at least 17"});
}

TEST(XmlTest, NamesThePlaceOfWhatItCannotRead) {
  expect_error([] { Xml("<a><b></a>", {.file = "f", .byte = 100}); }, {"f: byte 10", "cannot be read"});
  expect_error([] { Xml("no xml", {.file = "f", .byte = 100}); }, {"f: byte", "cannot be read"});
  expect_error([] { Xml("", {.file = "f", .byte = 100}); }, {"f: byte", "cannot be read"});
}

TEST(XmlTest, HexadecimalWords) {
  const Xml xml("<c><a>a2c41090</a><b>0x11193C39</b><d>123456789</d><e>xyz</e><f>1f</f></c>", {});
  EXPECT_EQ(xml.hexadecimal("c/a"), 0xa2c41090u);
  EXPECT_EQ(xml.hexadecimal("c/b"), 0x11193c39u);
  EXPECT_EQ(xml.hexadecimal("c/f"), 0x1fu);
  expect_error([&] { xml.hexadecimal("c/d"); }, {"'123456789'"});
  expect_error([&] { xml.hexadecimal("c/e"); }, {"'xyz'"});
}

}  // namespace
}  // namespace quadrille
