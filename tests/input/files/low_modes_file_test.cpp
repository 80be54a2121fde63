#include "input/files/low_modes_file.h"

#include "core/blas/random_fill.h"
#include "lime_testing.h"

#include <cstring>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using Json = nlohmann::ordered_json;

class LowModesFileTest : public ::testing::Test {
 protected:
  LowModesFileTest() : generator_(fresh_generator()) {}

  FieldDesc desc(const Lattice& lattice, Precision precision, Subset subset = Subset::Even) const {
    return FieldDesc::spinor(lattice, subset, precision);
  }
  std::vector<Field> random_modes(const FieldDesc& desc, int count) {
    std::vector<Field> modes;
    while (int(modes.size()) < count) fill_gaussian(modes.emplace_back(desc), generator_());
    return modes;
  }
  std::string write(const std::vector<Field>& modes, const Json& origin = {{"links", "some"}}) const {
    std::vector<const Field*> pointers;
    for (const Field& mode : modes) pointers.push_back(&mode);
    const std::string path = folder_.file("modes.lime");
    write_low_modes_file(path, pointers, origin);
    return path;
  }
  /// Those of a file as fields of another lattice, or of the same.
  static void read(const std::string& path, const FieldDesc& desc) {
    read_low_modes(LimeInput(path), desc, 1000, [](const Field&) {});
  }
  void expect_bad(const std::vector<RawRecord>& records, const FieldDesc& desc, std::vector<std::string> parts) const {
    const std::string path = folder_.file("bad.lime");
    write_bytes(path, raw_bytes(records));
    parts.push_back(path);
    expect_error([&] { read(path, desc); }, parts);
  }

  TemporaryFolder folder_;
  std::mt19937_64 generator_;
};

TEST_F(LowModesFileTest, RoundTripsBitForBit) {
  const Lattice lattice({4, 6, 2, 8});
  for (const Precision precision : {Precision::Single, Precision::Double}) {
    for (const Subset subset : {Subset::Even, Subset::Odd}) {
      for (const int count : {1, 12, 13, 30}) {
        const std::vector<Field> modes = random_modes(desc(lattice, precision, subset), count);
        const std::string path = write(modes, {{"operator", {{"mass", -0.5}}}});
        const LimeInput file(path);
        ASSERT_TRUE(has_low_modes(file));
        const LowModesHeader header = locate_low_modes(file);
        EXPECT_EQ(header.count, count);
        EXPECT_EQ(header.precision, precision == Precision::Double ? 64 : 32);
        EXPECT_EQ(header.subset, subset);
        EXPECT_EQ(header.origin, (Json{{"operator", {{"mass", -0.5}}}}));
        for (const int most : {count, (count + 1) / 2}) {
          int seen = 0;
          read_low_modes(file, modes.front().desc(), most, [&](const Field& mode) {
            const Field& expected = modes[std::size_t(seen++)];
            ASSERT_EQ(mode.desc(), expected.desc());
            const Parity p = parity_of(subset);
            EXPECT_EQ(std::memcmp(mode.numbers(p), expected.numbers(p), mode.desc().bytes()), 0) << seen;
          });
          EXPECT_EQ(seen, most);
        }
      }
    }
  }
}

TEST_F(LowModesFileTest, ErrorsSayWhatIsWrong) {
  const Lattice lattice({4, 4, 2, 6}), other({4, 4, 2, 8});
  const FieldDesc single = desc(lattice, Precision::Single);
  const std::string path = write(random_modes(single, 14));
  const std::vector<RawRecord> good = raw_records(read_bytes(path));
  ASSERT_EQ(good.size(), 5u);
  expect_error([&] { read(path, desc(other, Precision::Single)); },
               {path, "low modes are on a 4x4x2x6 lattice, not on one of 4x4x2x8"});
  expect_error([&] { read(path, desc(lattice, Precision::Single, Subset::Odd)); },
               {path, "live on even sites, and odd are needed"});

  std::vector<RawRecord> bad = good;
  bad[3].data[generator_() % bad[3].data.size()] ^= 0x10;  // of the second twelve
  expect_bad(bad, single, {"4 (quadrille-low-modes-data)"});
  bad = good;
  bad.resize(3);
  expect_bad(bad, single, {"14 modes take 2 records quadrille-low-modes-data, the file has 1"});
  bad = good;
  bad[1].data.resize(bad[1].data.size() - 8);
  expect_bad(bad, single, {"2 (quadrille-low-modes-data)", "twelve modes on a 4x4x2x6 lattice in 32 bits take"});
  for (const auto& [from, to, says] :
       {std::tuple("\"count\": 14", "\"count\": 0", "expected 1 or more modes in 32 or 64 bits, got 0 in 32"),
        std::tuple("\"precision\": 32", "\"precision\": 16", "got 14 in 16"),
        std::tuple("\"count\"", "\"number\"", "does not say what the low modes are"),
        std::tuple("{", "{{", "does not say what the low modes are")}) {
    bad = good;
    replace_text(bad[0].data, from, to);
    expect_bad(bad, single, {"1 (quadrille-low-modes)", says});
  }
  bad = good;
  bad.erase(bad.begin());
  expect_bad(bad, single, {"there are no low modes in this file"});
}

TEST_F(LowModesFileTest, NumbersThatAreNotFiniteAreNotWritten) {
  const Lattice lattice({4, 4, 2, 6});
  std::vector<Field> modes = random_modes(desc(lattice, Precision::Single), 3);
  static_cast<float*>(modes[1].numbers(Parity::Even))[7] = std::numeric_limits<float>::infinity();
  expect_error([&] { write(modes); }, {"site (", "mode 1 of the twelve of the record"});
  EXPECT_FALSE(fs::exists(folder_.file("modes.lime")));
}

}  // namespace
}  // namespace quadrille
