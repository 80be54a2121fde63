// Gauge fields from one format into another.
#include "input/commands/program.h"

#include "input/files/gauge_file.h"
#include "tests/input/files/gauge_file_testing.h"
#include "tests/testing/plain_links.h"

#include <sstream>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class ConvertTest : public GaugeFileTest {
 protected:
  int call(std::vector<std::string> words) {
    out_.str("");
    err_.str("");
    words.insert(words.begin(), "convert");
    return run_program(words, out_, err_);
  }
  int convert(const std::string& from, const std::string& to, const std::string& format,
              const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {folder_.file(from), folder_.file(to), "--format", format};
    words.insert(words.end(), more.begin(), more.end());
    return call(words);
  }
  HostLinks links_in(const std::string& name) const { return read_gauge_file(folder_.file(name)).links->host_links(); }

  std::ostringstream out_, err_;
};

TEST_F(ConvertTest, EveryFormatIntoEveryOther) {
  const HostLinks links = random_links({4, 6, 2, 8}, generator_);
  write_gauge_file(folder_.file("first"), links);
  const std::vector<std::string> formats = {"ildg", "openqcd", "nersc"};
  for (const std::string& first : formats) {
    ASSERT_EQ(convert("first", "a", first, {"--force", "--precision", "double"}), 0) << err_.str();
    for (const std::string& second : formats) {
      ASSERT_EQ(convert("a", "b", second, {"--force"}), 0) << err_.str();
      const int rows = first == "nersc" || second == "nersc" ? 2 : 3;
      EXPECT_EQ(links_in("b").data, stored_links(links, rows, 64).data) << first << " " << second;
      EXPECT_THAT(out_.str(), HasSubstr("b: 64 bits, 4 x 6 x 2 x 8, plaquette "));
    }
    ASSERT_EQ(convert("a", "m", "milc", {"--force"}), 0) << err_.str();
    EXPECT_EQ(links_in("m").data, stored_links(stored_links(links, first == "nersc" ? 2 : 3, 64), 3, 32).data);
    EXPECT_THAT(out_.str(), HasSubstr("rounded from 64 bits"));
  }
}

TEST_F(ConvertTest, FilesAreThoseOfTheFormats) {
  const HostLinks links = random_links({2, 4, 6, 2}, generator_);
  write_gauge_file(folder_.file("a"), links);
  for (const int rows : {2, 3}) {
    for (const std::string precision : {"single", "double"}) {
      const NerscForm form{rows, precision == "single" ? "IEEE32BIG" : "IEEE64BIG"};
      ASSERT_EQ(convert("a", "n", "nersc", {"--rows", std::to_string(rows), "--precision", precision, "--force"}), 0);
      const std::string bytes = read_bytes(folder_.file("n"));
      const std::string expected = nersc_bytes(links, form);
      const auto data_of = [](const std::string& all) { return all.substr(all.find("END_HEADER\n")); };
      EXPECT_EQ(data_of(bytes), data_of(expected));
      EXPECT_THAT(bytes.substr(0, 400), HasSubstr(rows == 3 ? "DATATYPE = 4D_SU3_GAUGE_3x3\n" : "= 4D_SU3_GAUGE\n"));
      EXPECT_THAT(bytes.substr(0, 400), HasSubstr("FLOATING_POINT = " + form.numbers + "\n"));
      const std::string sum = expected.substr(expected.find("CHECKSUM = "));
      EXPECT_THAT(bytes.substr(0, 400), HasSubstr(sum.substr(0, sum.find('\n'))));
    }
  }
  ASSERT_EQ(convert("a", "m", "milc"), 0) << err_.str();
  std::string bytes = read_bytes(folder_.file("m")), expected = milc_bytes(links, false);
  EXPECT_THAT(bytes.substr(20, 24), ContainsRegex("^[A-Z][a-z][a-z] [A-Z][a-z][a-z] .* [0-9]{4}$"));
  bytes.replace(20, 64, expected.substr(20, 64));
  EXPECT_EQ(bytes, expected);
}

TEST_F(ConvertTest, RealFilesComeBackByteForByte) {
  QUADRILLE_DATA_FILE(milc, "lat.sample.l4444");
  QUADRILLE_DATA_FILE(ildg, "lat.sample.l4444.ildg");
  ASSERT_EQ(call({ildg, folder_.file("m"), "--format", "milc"}), 0) << err_.str();
  std::string bytes = read_bytes(folder_.file("m"));
  const std::string expected = read_bytes(milc);
  bytes.replace(20, 64, expected.substr(20, 64));
  EXPECT_EQ(bytes, expected) << "but for the date";
  QUADRILLE_DATA_FILE(nersc, "t_nersc.cfg");
  ASSERT_EQ(call({nersc, folder_.file("n"), "--format", "nersc"}), 0) << err_.str();
  const auto data_of = [](const std::string& all) { return all.substr(all.find("END_HEADER\n")); };
  EXPECT_EQ(data_of(read_bytes(folder_.file("n"))), data_of(read_bytes(nersc)));
}

TEST_F(ConvertTest, ErrorsLoseNothing) {
  const HostLinks links = random_links({2, 4, 6, 2}, generator_);
  write_gauge_file(folder_.file("a"), links);
  write_bytes(folder_.file("precious"), "precious");
  EXPECT_EQ(convert("a", "precious", "milc"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("a file of that name exists; --force replaces it"));
  EXPECT_EQ(convert("a", "a", "milc", {"--force"}), 1);
  EXPECT_THAT(err_.str(), HasSubstr("is the file that is read"));
  for (const auto& [format, more, says] :
       {std::tuple(std::string("milc"), std::vector<std::string>{"--precision", "double"}, "numbers of 32 bits"),
        std::tuple(std::string("openqcd"), std::vector<std::string>{"--precision", "single"}, "numbers of 64 bits"),
        std::tuple(std::string("ildg"), std::vector<std::string>{"--rows", "2"}, "three rows")}) {
    EXPECT_EQ(convert("a", "new", format, more), 1);
    EXPECT_THAT(err_.str(), HasSubstr(says));
  }
  EXPECT_EQ(convert("a", "new", "hdf5"), 2);
  EXPECT_THAT(err_.str(), HasSubstr("'hdf5' is not one of ildg, nersc, milc, openqcd"));
  EXPECT_EQ(convert("none", "new", "milc"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("none"));
  HostLinks off = links;
  off.data[7] *= 1.5;
  write_gauge_file(folder_.file("off"), off);
  EXPECT_EQ(convert("off", "new", "ildg"), 1);
  EXPECT_THAT(err_.str(), HasSubstr("the links are not in SU(3)"));
  EXPECT_EQ(convert("a", "folder/new", "milc"), 1);
  EXPECT_FALSE(fs::exists(folder_.file("new")));
  EXPECT_EQ(read_bytes(folder_.file("precious")), "precious");
  EXPECT_EQ(links_in("a").data, links.data);
}

}  // namespace
}  // namespace quadrille
