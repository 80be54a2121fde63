// The gauge field of a job: the checksum that stands for its links.
#include "input/job/gauge.h"

#include "input/files/gauge_file.h"
#include "tests/input/files/lime_testing.h"
#include "tests/testing/plain_links.h"

namespace quadrille {
namespace {

using namespace quadrille::testing;

class GaugeTest : public ::testing::Test {
 protected:
  LoadedGauge load(const std::string& gauge) const {
    write_bytes(folder_.file("job.yaml"), "gauge: {" + gauge +
                                              "}\noperator: {type: wilson, mass: 0.1, boundary: [periodic, periodic, "
                                              "periodic, periodic]}\nsolver: {type: cg}\nrun:\n"
                                              "  - {task: propagator, source: {type: point, site: [0, 0, 0, 0]}}\n");
    std::vector<Error> errors;
    const Job job = read_job(folder_.file("job.yaml"), {}, errors);
    for (const Error& error : errors) ADD_FAILURE() << error.what();
    return load_gauge(job, cpu_backend());
  }
  /// What a 64-bit file of these links says.
  std::string stored(const HostLinks& links) const {
    write_gauge_file(folder_.file("check.ildg"), links);
    std::vector<RawRecord> records = raw_records(read_bytes(folder_.file("check.ildg")));
    const std::string xml = find_raw(records, "scidac-checksum").data;
    return "suma " + xml.substr(xml.find("<suma>") + 6, 8) + ", sumb " + xml.substr(xml.find("<sumb>") + 6, 8);
  }

  TemporaryFolder folder_;
};

TEST_F(GaugeTest, TheChecksumIsThatOfTheLinksIn64Bits) {
  auto generator = fresh_generator();
  HostLinks links = random_links({4, 4, 4, 6}, generator);
  write_gauge_file(folder_.file("double.ildg"), links);
  write_gauge_file(folder_.file("single.ildg"), links, {.precision = 32});
  for (Complex& number : links.data) number *= 1.01;
  write_gauge_file(folder_.file("scaled.ildg"), links);
  for (const std::string gauge :
       {"start: hot, seed: 7, dims: [4, 4, 4, 6]", "start: hot, seed: 8, dims: [16, 12, 10, 8]", "file: double.ildg",
        "file: single.ildg", "file: scaled.ildg, reunitarize: true"}) {
    SCOPED_TRACE(gauge);
    const LoadedGauge loaded = load(gauge);
    EXPECT_EQ(loaded.checksum, stored(loaded.links->host_links()));
    // The report tells of the file, whose numbers these links may not be any more.
    const auto& report = loaded.report["checksum"];
    const std::string told =
        "suma " + report["suma"].get<std::string>() + ", sumb " + report["sumb"].get<std::string>();
    EXPECT_EQ(told == loaded.checksum, gauge.find("single") == gauge.npos && gauge.find("scaled") == gauge.npos);
  }
}

TEST_F(GaugeTest, FilesOfOtherFormatsAreGaugeFields) {
  auto generator = fresh_generator();
  const HostLinks links = random_links({4, 4, 4, 6}, generator);
  const std::string nersc = nersc_bytes(links, {2, "IEEE32BIG"});
  write_bytes(folder_.file("a.nersc"), nersc);
  write_bytes(folder_.file("a.milc"), milc_bytes(links, false));
  for (const std::string file : {"a.nersc", "a.milc"}) {
    for (const bool project : {false, true}) {
      const LoadedGauge loaded = load("file: " + file + (project ? ", reunitarize: true" : ""));
      EXPECT_EQ(loaded.checksum, stored(loaded.links->host_links()));
      EXPECT_EQ(loaded.report["format"], file.substr(2));
      EXPECT_EQ(loaded.report["checksum"]["verdict"], "ok");
      EXPECT_TRUE(loaded.report["checksum"].contains(file == "a.nersc" ? "sum" : "sum29"));
      EXPECT_EQ(loaded.warnings.size(), project ? 1u : 0u);
    }
  }
  std::string other = nersc;
  other.replace(other.find("PLAQUETTE = ") + 12, 3, "9.9");
  write_bytes(folder_.file("a.nersc"), other);
  expect_error([this] { (void)load("file: a.nersc"); }, {"the header says PLAQUETTE = 9.9"});
  const LoadedGauge loaded = load("file: a.nersc, verify_checksum: false");
  ASSERT_EQ(loaded.warnings.size(), 1u);
  EXPECT_NE(loaded.warnings[0].find("the header says PLAQUETTE = 9.9"), std::string::npos);
}

}  // namespace
}  // namespace quadrille
