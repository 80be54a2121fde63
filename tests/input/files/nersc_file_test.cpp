// NERSC archives, good and damaged, in every form of their numbers.
#include "input/files/nersc/nersc_file.h"

#include "gauge_file_testing.h"
#include "tests/testing/plain_links.h"

#include <array>
#include <limits>
#include <set>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using ::testing::Not;

const NerscForm all_forms[] = {{2, "IEEE32"},       {2, "IEEE32BIG"},   {2, "IEEE32LITTLE"}, {2, "IEEE64BIG"},
                               {2, "IEEE64LITTLE"}, {3, "IEEE32"},      {3, "IEEE32BIG"},    {3, "IEEE32LITTLE"},
                               {3, "IEEE64BIG"},    {3, "IEEE64LITTLE"}};

class NerscFileTest : public GaugeFileTest {
 protected:
  std::string saved_text(const std::string& bytes) const {
    write_bytes(folder_.file("a.nersc"), bytes);
    return folder_.file("a.nersc");
  }
  std::string saved_links(const HostLinks& links, const NerscForm& form) const {
    return saved_text(nersc_bytes(links, form));
  }
  std::optional<Error> expect_bad_text(const std::string& bytes, std::vector<std::string> parts,
                                       bool verify_checksum = true) const {
    const std::string path = saved_text(bytes);
    parts.push_back(path);
    return expect_error([&] { read_gauge_file(path, {.verify_checksum = verify_checksum}); }, parts);
  }
};

TEST_F(NerscFileTest, EveryFormIsRead) {
  const Dims dims{4, 2, 6, 8};
  for (const NerscForm& form : all_forms) {
    SCOPED_TRACE(std::to_string(form.rows) + " rows, " + form.numbers);
    const HostLinks links = random_links(dims, generator_), expected = stored_links(links, form.rows, form.bits());
    const GaugeFile read = read_gauge_file(saved_links(links, form));
    EXPECT_EQ(read.info.format, "nersc");
    EXPECT_EQ(read.info.precision, form.bits());
    EXPECT_EQ(read.info.dims, dims);
    EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
    EXPECT_FALSE(contradiction(read.info));
    EXPECT_EQ(read.info.links_sum, checksum_of(*read.links));
    EXPECT_NO_THROW(check_links(read.info, read.links->unitarity()));
    const HostLinks found = read.links->host_links();
    for (std::size_t i = 0; i < found.data.size(); ++i) {
      if (form.rows == 3 || i % 9 < 6)
        ASSERT_EQ(found.data[i], expected.data[i]) << i;
      else
        ASSERT_LE(std::abs(found.data[i] - expected.data[i]), 1e-15) << i;  // in double, not rounded to 32 bits
    }
    EXPECT_EQ(gauge_file_info(folder_.file("a.nersc")).dims, dims);
  }
}

TEST_F(NerscFileTest, AFieldOfSeveralPieces) {
  HostLinks links({16, 12, 10, 8});  // 15,360 sites: more than the 8 MiB that are moved at once
  std::uniform_real_distribution<double> uniform(-1, 1);
  for (Complex& number : links.data) number = {uniform(generator_), uniform(generator_)};
  const GaugeFile read = read_gauge_file(saved_links(links, {3, "IEEE64LITTLE"}));
  EXPECT_EQ(read.links->host_links().data, links.data);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
}

TEST_F(NerscFileTest, AChecksumThatDoesNotMatch) {
  for (const NerscForm& form : all_forms) {
    const HostLinks links = random_links({2, 4, 2, 4}, generator_);
    std::string bytes = nersc_bytes(links, form);
    const std::size_t data = bytes.find("END_HEADER\n") + 11, word = std::size_t(form.bits()) / 8;
    const std::size_t lowest = form.big() ? word - 1 : 0, at = data + generator_() % 100 * word + lowest;
    bytes[at] = char(bytes[at] ^ 1);  // the last bit of a mantissa: only the checksum can tell
    expect_bad_text(bytes, {"byte " + std::to_string(data) + ": ", "checksum mismatch: the file says sum ",
                            "but the data give sum ", "gauge.verify_checksum: false"});
    LogCapture captured;
    const GaugeFile read = read_gauge_file(folder_.file("a.nersc"), {.verify_checksum = false});
    EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::mismatch);
    EXPECT_THAT(captured.text(), HasSubstr("checksum mismatch"));
    EXPECT_THAT(captured.text(), Not(HasSubstr("verify_checksum")));
  }
}

TEST_F(NerscFileTest, AWrongByteOrderIsTold) {
  for (const auto& [data, head, right] :
       {std::array{"IEEE32BIG", "IEEE32LITTLE", "IEEE32BIG"}, {"IEEE64LITTLE", "IEEE64BIG", "IEEE64LITTLE"}}) {
    std::string bytes = nersc_bytes(random_links({2, 4, 2, 4}, generator_), {2, data});
    replace_text(bytes, data, head);
    expect_bad_text(
        bytes, {"checksum mismatch", std::string("byte order they give that sum: FLOATING_POINT should be ") + right});
  }
}

TEST_F(NerscFileTest, LinksTellAByteOrderThatTheHeaderLeavesOpen) {
  for (const auto& [data, head, said] : {std::array{"IEEE32BIG", "IEEE32", "(IEEE32, by its links big-endian)"},
                                         {"IEEE32LITTLE", "IEEE32", "(IEEE32, by its links little-endian)"},
                                         {"IEEE64BIG", "IEEE64", "(IEEE64, by its links big-endian)"},
                                         {"IEEE64LITTLE", "IEEE64", "(IEEE64, by its links little-endian)"}}) {
    SCOPED_TRACE(said);
    HostLinks unit = random_links({2, 4, 2, 4}, generator_);
    for (std::size_t i = 0; i < unit.data.size(); ++i) unit.data[i] = i % 9 % 4 == 0 ? 1 : 0;
    for (const HostLinks& links : {random_links({2, 4, 2, 4}, generator_), unit}) {
      std::string bytes = nersc_bytes(links, {2, data});
      replace_text(bytes, data, head);
      const GaugeFile read = read_gauge_file(saved_text(bytes));
      EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
      EXPECT_THAT(nersc_header(InputFile(folder_.file("a.nersc"))).at(2).second, HasSubstr(said));
    }
  }
}

TEST_F(NerscFileTest, AMissingChecksumIsTold) {
  std::string bytes = nersc_bytes(random_links({2, 4, 2, 4}, generator_), {});
  replace_text(bytes, "CHECKSUM", "OTHERSUM");
  const GaugeFile read = read_gauge_file(saved_text(bytes));
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::missing);
  EXPECT_THAT(to_string(read.info.checksum), HasSubstr("missing (computed sum "));
}

TEST_F(NerscFileTest, StatedNumbersAreThoseOfTheLinks) {
  for (const NerscForm& form : all_forms) {
    const std::string bytes = nersc_bytes(random_links({2, 4, 2, 4}, generator_), form);
    for (const std::string key : {"PLAQUETTE", "LINK_TRACE"}) {
      SCOPED_TRACE(key + " " + form.numbers);
      const std::size_t at = bytes.find(key), value = at + key.size() + 3, end = bytes.find('\n', at);
      const double number = std::stod(bytes.substr(value, end - value));
      const auto with = [&](double changed) {
        char text[40];
        std::snprintf(text, sizeof text, "%.10f", number + changed);
        return bytes.substr(0, value) + text + bytes.substr(end);
      };
      const double off = form.bits() == 32 ? 3e-5 : 3e-10;
      const auto error = expect_bad_text(with(off), {"the header says " + key + " = ", "but that of the links is ",
                                                     "they may differ by ", "gauge.verify_checksum: false"});
      ASSERT_TRUE(error);
      EXPECT_EQ(error->where().byte, std::int64_t(at));
      {
        LogCapture captured;
        const GaugeFile read = read_gauge_file(folder_.file("a.nersc"), {.verify_checksum = false});
        EXPECT_THAT(captured.text(), HasSubstr("the header says " + key));
        EXPECT_TRUE(contradiction(read.info));
      }
      EXPECT_NO_THROW(read_gauge_file(saved_text(with(off / 10))));
      std::string without = bytes;
      replace_text(without, key, "OTHER");
      EXPECT_NO_THROW(read_gauge_file(saved_text(without)));
    }
  }
}

/// As few digits as a header may have.
TEST_F(NerscFileTest, StatedNumbersHaveTheirDigits) {
  const std::string bytes = nersc_bytes(random_links({2, 4, 2, 4}, generator_), {3, "IEEE64BIG"});
  const std::size_t value = bytes.find("PLAQUETTE = ") + 12, end = bytes.find('\n', value);
  const double number = std::stod(bytes.substr(value, end - value));
  const auto with = [&](const char* format, double stated) {
    char text[40];
    std::snprintf(text, sizeof text, format, stated);
    return bytes.substr(0, value) + text + bytes.substr(end);
  };
  for (const char* format : {"%.3f", "%.5f", "%.4e", "%.6e", "%.17g"})
    EXPECT_NO_THROW(read_gauge_file(saved_text(with(format, number)))) << format;
  expect_bad_text(with("%.3f", number + 0.002), {"the header says PLAQUETTE"});
  expect_bad_text(with("%.4e", number * 1.001), {"the header says PLAQUETTE"});
}

TEST_F(NerscFileTest, CutAnywhereIsAnError) {
  const std::string bytes = nersc_bytes(random_links({2, 2, 2, 4}, generator_), {});
  const std::size_t data = bytes.find("END_HEADER\n") + 11;
  std::set<std::size_t> cuts{data - 1, data, data + 1, bytes.size() - 4, bytes.size() - 1};
  for (int i = 0; i < 20; ++i) cuts.insert(12 + generator_() % (data - 12));
  for (int i = 0; i < 20; ++i) cuts.insert(data + generator_() % (bytes.size() - data));
  for (const std::size_t cut : cuts) {
    const auto error = expect_bad_text(bytes.substr(0, cut), {});
    ASSERT_TRUE(error) << cut;
    EXPECT_THAT(error->what(), HasSubstr(cut < data ? "no line END_HEADER" : "bytes follow the header, but the links"));
    EXPECT_EQ(error->where().byte, cut < data ? 0 : std::int64_t(data));
  }
  expect_bad_text(bytes + "x", {std::to_string(bytes.size() + 1 - data) + " bytes follow the header"});
}

TEST_F(NerscFileTest, WrongWordsInTheHeader) {
  const std::string bytes = nersc_bytes(random_links({2, 4, 6, 2}, generator_), {});
  const auto spoilt = [&](const std::string& key, const std::string& value, std::vector<std::string> parts) {
    const std::size_t at = bytes.find(key + " = "), from = at + key.size() + 3, end = bytes.find('\n', at);
    parts.push_back("byte " + std::to_string(at) + ": ");
    expect_bad_text(bytes.substr(0, from) + value + bytes.substr(end), parts);
  };
  spoilt("DATATYPE", "4D_SU2_GAUGE", {"DATATYPE is '4D_SU2_GAUGE'", "4D_SU3_GAUGE or 4D_SU3_GAUGE_3x3"});
  spoilt("FLOATING_POINT", "IEEE16", {"FLOATING_POINT is 'IEEE16'", "IEEE32 or IEEE64, with BIG or LITTLE"});
  spoilt("FLOATING_POINT", "IEEE32MIDDLE", {"FLOATING_POINT is 'IEEE32MIDDLE'"});
  spoilt("DIMENSION_2", "four", {"DIMENSION_2 = 'four', which is no extent"});
  spoilt("DIMENSION_2", "-4", {"DIMENSION_2 = '-4'"});
  spoilt("CHECKSUM", "123456789", {"CHECKSUM is '123456789'", "8 hexadecimal digits"});
  spoilt("CHECKSUM", "xyz", {"CHECKSUM is 'xyz'"});
  spoilt("PLAQUETTE", "much", {"PLAQUETTE is 'much', which is no number"});
  std::string changed = bytes;
  replace_text(changed, "DATATYPE = 4D_SU3_GAUGE\n", "");
  expect_bad_text(changed, {"DATATYPE is ''"});
  changed = bytes;
  replace_text(changed, "DATATYPE = 4D_SU3_GAUGE", "DATATYPE = 4D_SU3_GAUGE_3x3");
  expect_bad_text(changed, {"18432 bytes follow the header, but the links of a 2 x 4 x 6 x 2 lattice take 27648"});
}

TEST_F(NerscFileTest, WrongExtents) {
  const std::string bytes = nersc_bytes(random_links({2, 4, 6, 2}, generator_), {});
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string changed = bytes;
    replace_text(changed, from, to);
    return changed;
  };
  expect_bad_text(with("DIMENSION_3 = 6", "DIMENSION_3 = 8"), {"take 24576"});
  expect_bad_text(with("DIMENSION_3 = 6", "DIMENSION_3 = 0"), {"it must be 1 to"});
  expect_bad_text(with("DIMENSION_3 = 6", "DIMENSION_3 = 4000000000"), {"it must be 1 to"});
  std::string odd = with("DIMENSION_3 = 6", "DIMENSION_3 = 3");
  replace_text(odd, "DIMENSION_2 = 4", "DIMENSION_2 = 8");
  expect_bad_text(odd, {"2x8x3x2", "its z extent 3 is not an even number"});
  // Of the same size: the plaquette tells.
  std::string other = with("DIMENSION_3 = 6", "DIMENSION_3 = 4");
  replace_text(other, "DIMENSION_2 = 4", "DIMENSION_2 = 6");
  expect_bad_text(other, {"the header says PLAQUETTE"});
}

TEST_F(NerscFileTest, NumbersThatAreNotFinite) {
  for (const NerscForm& form : all_forms) {
    HostLinks links = random_links({2, 4, 6, 2}, generator_);
    links.link(31, 2)[4] = {0.5, std::numeric_limits<double>::quiet_NaN()};  // site (1,3,3,0)
    const std::string data = link_bytes(links, form.rows, form.bits(), form.big());
    std::string head = nersc_head(random_links(links.dims, generator_), form, nersc_sum(data, form.big()));
    const std::size_t byte = head.size() + std::size_t(((31 * 4 + 2) * form.rows * 6 + 4 * 2 + 1) * form.bits() / 8);
    const auto error = expect_bad_text(
        head + data, {"byte " + std::to_string(byte) + ": ", "site (1,3,3,0), direction z (row 1, column 1)"});
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::numerical);
  }
}

TEST_F(NerscFileTest, LinksThatAreNotInSu3) {
  HostLinks links = random_links({4, 2, 2, 4}, generator_);
  for (int i = 0; i < 9; ++i) links.link(43, 3)[i] *= 1.001;  // site (3,0,1,2)
  const GaugeFile read = read_gauge_file(saved_links(links, {}));
  const auto error = expect_error([&read] { check_links(read.info, read.links->unitarity()); },
                                  {folder_.file("a.nersc"), "site (3,0,1,2), direction t", "gauge.reunitarize: true"});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->where().byte, std::int64_t(read.info.plain.data_byte) + (43 * 4 + 3) * 12 * 4);
}

TEST_F(NerscFileTest, ARealFile) {
  QUADRILLE_DATA_FILE(path, "t_nersc.cfg");
  const GaugeFile read = read_gauge_file(path);
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
  EXPECT_EQ(read.info.checksum.computed, (Checksum{0x717938df, 0}));
  EXPECT_EQ(read.info.dims, (Dims{4, 4, 4, 4}));
  const GaugeObservables seen = read.links->observables();
  EXPECT_NEAR(seen.plaquette, 0.0382422893, 1e-10);
  EXPECT_NEAR(seen.link_trace, 0.4630322094, 1e-9);
  EXPECT_NO_THROW(check_links(read.info, seen.unitarity));
}

}  // namespace
}  // namespace quadrille
