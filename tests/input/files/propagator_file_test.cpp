#include "input/files/propagator_file.h"

#include "input/files/lime/xml.h"
#include "lime_testing.h"
#include "tests/input/host_propagator.h"

#include <bit>
#include <limits>

namespace quadrille {
namespace {

using namespace quadrille::testing;
using ::testing::HasSubstr;
using ::testing::Not;

class PropagatorFileTest : public ::testing::Test {
 protected:
  PropagatorFileTest() : generator_(fresh_generator()) {}

  std::vector<RawRecord> good_records(int precision = 64) {
    const PropagatorHeader header{.source = {1, 2, 3, 0}, .mass = 0.1, .boundary = {0, 0, 0, 1}};
    write_propagator_file(folder_.file("good.lime"), random_propagator({2, 4, 6, 2}, generator_), header,
                          {.precision = precision});
    return raw_records(read_bytes(folder_.file("good.lime")));
  }
  std::optional<Error> expect_bad(const std::vector<RawRecord>& records, std::vector<std::string> parts) const {
    const std::string path = folder_.file("a.lime");
    write_bytes(path, raw_bytes(records));
    parts.push_back(path);
    return expect_error([&] { read_propagator_file(path); }, parts);
  }

  TemporaryFolder folder_;
  std::mt19937_64 generator_;
};

TEST_F(PropagatorFileTest, RoundTrips) {
  for (const Dims& dims : {Dims{4, 6, 2, 8}, Dims{12, 4, 2, 6}, Dims{16, 8, 4, 8}}) {  // the last in several pieces
    const HostPropagator propagator = random_propagator(dims, generator_);
    write_propagator_file(folder_.file("a.lime"), propagator, {});
    const auto read = read_propagator_file(folder_.file("a.lime"));
    EXPECT_EQ(read.propagator.data, propagator.data);
    EXPECT_EQ(read.info.dims, dims);
    EXPECT_EQ(read.info.precision, 64);
    EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::ok);
    write_propagator_file(folder_.file("a.lime"), propagator, {}, {.precision = 32});
    const auto single = read_propagator_file(folder_.file("a.lime"));
    EXPECT_EQ(single.info.precision, 32);
    for (std::size_t i = 0; i < propagator.data.size(); ++i)
      ASSERT_EQ(single.propagator.data[i].real(), double(float(propagator.data[i].real())));
  }
}

TEST_F(PropagatorFileTest, EveryNumberStandsWhereQdpPutsIt) {
  HostPropagator propagator({2, 4, 6, 2});
  for (std::size_t i = 0; i < propagator.data.size(); ++i) propagator.data[i] = {double(i), 0.5 * double(i)};
  write_propagator_file(folder_.file("a.lime"), propagator, {});
  std::vector<RawRecord> records = raw_records(read_bytes(folder_.file("a.lime")));
  const std::string& data = find_raw(records, "scidac-binary-data").data;
  ASSERT_EQ(data.size(), 96u * 2304);
  for (int trial = 0; trial < 100; ++trial) {
    const auto below = [this](std::size_t n) { return generator_() % n; };
    const std::size_t site = below(96), sink_spin = below(4), source_spin = below(4), a = below(3), b = below(3);
    const std::size_t n = (((site * 4 + sink_spin) * 4 + source_spin) * 3 + a) * 3 + b;
    EXPECT_EQ(std::bit_cast<double>(big_number(data, n * 16, 8)), propagator.data[n].real());
    EXPECT_EQ(std::bit_cast<double>(big_number(data, n * 16 + 8, 8)), propagator.data[n].imag());
  }
}

TEST_F(PropagatorFileTest, RecordsAreThoseOfQio) {
  for (const int precision : {32, 64}) {
    std::vector<RawRecord> records = good_records(precision);
    std::vector<std::string> types;
    std::vector<int> flags;
    for (const RawRecord& record : records) types.push_back(record.type), flags.push_back(record.flags);
    EXPECT_EQ(types,
              (std::vector<std::string>{"scidac-private-file-xml", "scidac-file-xml", "scidac-private-record-xml",
                                        "scidac-record-xml", "scidac-binary-data", "scidac-checksum"}));
    EXPECT_EQ(flags, (std::vector<int>{0x80, 0x40, 0x80, 0, 0, 0x40}));
    const std::string xml = find_raw(records, "scidac-private-record-xml").data;
    for (const std::string part :
         {"<recordtype>0</recordtype><datatype>Lattice</datatype>",
          precision == 64 ? "<precision>D</precision><colors>3</colors><spins>4</spins><typesize>2304</typesize>"
                          : "<precision>F</precision><colors>3</colors><spins>4</spins><typesize>1152</typesize>",
          "<datacount>1</datacount>"})
      EXPECT_THAT(xml, HasSubstr(part));
  }
}

/// What Chroma's readers of a propagator's header look up (its lib/io/qprop_io.cc): each path must be there.
TEST_F(PropagatorFileTest, TheHeaderHasWhatChromaLooksUp) {
  const PropagatorHeader header{.source = {1, 2, 3, 4},
                                .action = "TWISTED_MASS",
                                .mass = -0.0625,
                                .action_numbers = {{"TwistedM", 0.5}},
                                .xi0 = 2.464,
                                .nu = 0.95,
                                .boundary = {0, 0, 0, 1},
                                .inverter = "CG_INVERTER",
                                .tolerance_element = "RsdCG",
                                .limit_element = "MaxCG",
                                .tolerance = 1e-12,
                                .max_iterations = 500,
                                .gauge_file = "a&b.lime",
                                .plaquette = 0.5};
  write_propagator_file(folder_.file("a.lime"), random_propagator({2, 4, 4, 6}, generator_), header);
  const auto read = read_propagator_file(folder_.file("a.lime"));
  const Xml xml(read.info.record_xml, {});
  const std::vector<std::pair<std::string, std::string>> expected{
      {"Propagator/version", "1"},
      {"Propagator/ForwardProp/version", "9"},
      {"Propagator/ForwardProp/quarkSpinType", "FULL"},
      {"Propagator/ForwardProp/obsvP", "false"},
      {"Propagator/ForwardProp/FermionAction/FermAct", "TWISTED_MASS"},
      {"Propagator/ForwardProp/FermionAction/Mass", "-0.0625"},
      {"Propagator/ForwardProp/FermionAction/TwistedM", "0.5"},
      {"Propagator/ForwardProp/FermionAction/AnisoParam/anisoP", "true"},
      {"Propagator/ForwardProp/FermionAction/AnisoParam/t_dir", "3"},
      {"Propagator/ForwardProp/FermionAction/FermState/FermionBC/boundary", "1 1 1 -1"},
      {"Propagator/ForwardProp/InvertParam/invType", "CG_INVERTER"},
      {"Propagator/ForwardProp/InvertParam/MaxCG", "500"},
      {"Propagator/PropSource/version", "6"},
      {"Propagator/PropSource/Source/version", "2"},
      {"Propagator/PropSource/Source/SourceType", "POINT_SOURCE"},
      {"Propagator/PropSource/Source/j_decay", "3"},
      {"Propagator/PropSource/Source/t_srce", "1 2 3 4"},
      {"Propagator/PropSource/j_decay", "3"},
      {"Propagator/PropSource/t_source", "4"},
      {"Propagator/Config_info/gauge_file", "a&b.lime"}};
  for (const auto& [path, text] : expected) EXPECT_EQ(xml.find(path), text) << path;
  EXPECT_EQ(std::stod(xml.text("Propagator/ForwardProp/FermionAction/AnisoParam/xi_0")), 2.464);
  EXPECT_EQ(std::stod(xml.text("Propagator/ForwardProp/FermionAction/AnisoParam/nu")), 0.95);
  EXPECT_TRUE(xml.has("Propagator/StateInfo"));
  EXPECT_EQ(read.info.source, (Dims{1, 2, 3, 4}));
  EXPECT_EQ(read.info.source_type, "POINT_SOURCE");
  EXPECT_EQ(read.info.decay_direction, 3);
  EXPECT_EQ(read.info.mass, -0.0625);
}

TEST_F(PropagatorFileTest, PhasesThatChromaDoesNotKnowAreNotCalledSigns) {
  write_propagator_file(folder_.file("a.lime"), random_propagator({2, 2, 2, 2}, generator_),
                        {.boundary = {0, 0.5, 0, 1}});
  const Xml xml(read_propagator_file(folder_.file("a.lime")).info.record_xml, {});
  EXPECT_FALSE(xml.has("//boundary"));
  EXPECT_EQ(xml.text("//boundary_phases_by_pi"), "0 0.5 0 1");
}

TEST_F(PropagatorFileTest, OtherNamesOfTheDatatypeRead) {
  for (const int precision : {32, 64}) {
    for (const std::string name : {"QDP_D3_DiracPropagator", "LatticePropagator", ""}) {
      std::vector<RawRecord> records = good_records(precision);
      replace_text(find_raw(records, "scidac-private-record-xml").data, ">Lattice<", ">" + name + "<");
      find_raw(records, "scidac-record-xml").data = "no XML at all";
      write_bytes(folder_.file("a.lime"), raw_bytes(records));
      const auto read = read_propagator_file(folder_.file("a.lime"));
      EXPECT_EQ(read.info.datatype, name);
      EXPECT_EQ(read.info.precision, precision);
      EXPECT_EQ(read.info.record_xml, "no XML at all");
      EXPECT_FALSE(read.info.source.has_value());
      EXPECT_FALSE(read.info.mass.has_value());
    }
  }
}

TEST_F(PropagatorFileTest, BadFilesNameThePlace) {
  std::vector<RawRecord> records = good_records();
  const auto spoilt = [&records](const std::string& type, const std::string& from, const std::string& to) {
    std::vector<RawRecord> bad = records;
    replace_text(find_raw(bad, type).data, from, to);
    return bad;
  };
  const std::string record = "scidac-private-record-xml", file = "scidac-private-file-xml";
  expect_bad(spoilt(record, "<typesize>2304", "<typesize>192"), {"no propagator in this file", "2304 (64 bits)"});
  expect_bad(spoilt(record, "<precision>D", "<precision>F"), {"no propagator in this file"});
  expect_bad(spoilt(file, "2 4 6 2 ", "2 4 6 4"), {"(scidac-binary-data)", "has 221184 bytes", "takes 442368 bytes"});
  expect_bad(spoilt(file, "2 4 6 2 ", "2 4 3 4"), {"(scidac-private-file-xml)", "All extents must be even"});
  expect_bad(spoilt("scidac-checksum", "<suma>", "<suma>1"), {"(scidac-checksum)", "32-bit hexadecimal"});
  std::vector<RawRecord> bad = records;
  std::string& data = find_raw(bad, "scidac-binary-data").data;
  data[1007] = char(data[1007] ^ 1);
  expect_bad(bad, {"record 5 (scidac-binary-data)", "checksum mismatch"});
  const auto read = read_propagator_file(folder_.file("a.lime"), {.verify_checksum = false});
  EXPECT_EQ(read.info.checksum.state, ChecksumVerdict::State::mismatch);
}

/// As for gauge fields: what cannot be told is one NUL less or more after a text.
TEST_F(PropagatorFileTest, ALengthThatIsWrongByOneOrTwo) {
  const std::vector<RawRecord> records = good_records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    for (const int change : {-1, -2, 1}) {
      SCOPED_TRACE(records[i].type + ": " + std::to_string(change));
      const std::string path = folder_.file("a.lime"), name = "(" + records[i].type + ")";
      write_bytes(path, with_length_changed(records, i, change));
      LogCapture captured;
      const auto read = [&path] { read_propagator_file(path); };
      const bool cut = padding_tells(records[i], change);
      const bool user = records[i].type == "scidac-file-xml" || records[i].type == "scidac-record-xml";
      if (records[i].type == "scidac-binary-data" || !padding_hides(records[i], change))
        expect_error(read, {path, "record "});
      else if (cut && !user)
        expect_error(read, {path, name, "this XML cannot be read"});
      else
        EXPECT_NO_THROW(read());
      if (records[i].type == "scidac-binary-data" || !padding_hides(records[i], change)) continue;
      EXPECT_EQ(captured.text().find(name + ", byte") != std::string::npos, cut) << captured.text();
      EXPECT_EQ(captured.text().empty(), !cut);
    }
  }
}

TEST_F(PropagatorFileTest, NumbersThatAreNotFinite) {
  HostPropagator propagator = random_propagator({2, 2, 4, 2}, generator_);
  const std::size_t site = 13;  // (1,0,3,0)
  propagator.data[(((site * 4 + 3) * 4 + 1) * 3 + 2) * 3 + 1] = std::numeric_limits<double>::infinity();
  expect_error([&] { write_propagator_file(folder_.file("a.lime"), propagator, {}); },
               {"site (1,0,3,0), sink spin 3, source spin 1, sink color 2, source color 1", "inf"});
  EXPECT_EQ(folder_.count(), 0u);
  std::vector<RawRecord> records = good_records();
  records.pop_back();
  records.back().flags = 0x40;
  put_big_number(records.back().data, 2304 * 5, 0x7ff8000000000000, 8);
  expect_bad(records, {"(scidac-binary-data)", "nan at site (1,2,0,0), sink spin 0", "should be finite"});
}

TEST_F(PropagatorFileTest, CutFilesAndUnwritablePlaces) {
  const std::vector<RawRecord> records = good_records();
  const std::string path = folder_.file("good.lime");
  for (std::size_t i = records.size(); i-- > 0;) {
    for (const std::size_t cut :
         {records[i].data_at() + records[i].data.size() / 2, records[i].header + 70, records[i].header}) {
      if (cut == 0) continue;
      fs::resize_file(path, cut);
      expect_error([&path] { read_propagator_file(path); }, {path});
    }
  }
  fs::remove(path);
  expect_error([&] { read_propagator_file(path); }, {path, "no such file"});
  expect_error(
      [&] {
        write_propagator_file(folder_.file("missing/a"), HostPropagator({2, 2, 2, 2}), {});
      },
      {folder_.file("missing/a"), "no such file or directory"});
  if (fs::exists("/dev/full"))
    expect_error(
        [] {
          write_propagator_file("/dev/full", HostPropagator({2, 2, 2, 2}), {});
        },
        {"/dev/full", "no space left on device"});
}

}  // namespace
}  // namespace quadrille
