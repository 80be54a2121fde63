// Files that several ranks write and read together, against those of one process.
#include "core/comm/agreement.h"
#include "core/field/convert.h"
#include "input/files/gauge_file.h"
#include "input/files/propagator_file.h"
#include "tests/dirac/dirac_testing.h"
#include "tests/ranks/ranks_testing.h"
#include "tests/testing/plain_links.h"
#include "tests/testing/temporary_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>

namespace quadrille {
namespace {

using testing::backend;
using testing::divided_dims;
using testing::ranks;

/// A folder that all ranks see.
class SharedFolder {
 public:
  SharedFolder() : all_(testing::all_ranks()) {
    if (all_->rank() == 0) folder_.emplace();
    path_ = share(*all_, folder_ ? folder_->file("") : "");
  }
  ~SharedFolder() { all_->barrier(); }
  std::string file(const std::string& name) const { return path_ + name; }
  std::size_t count() const {
    all_->barrier();
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++files;
    all_->barrier();
    return files;
  }

 private:
  std::shared_ptr<const Communicator> all_;
  std::optional<testing::TemporaryFolder> folder_;
  std::string path_;
};

std::vector<char> data_of(const std::string& path, const LimeRecord& record) {
  std::vector<char> bytes(record.length);
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(std::streamoff(record.data_byte));
  stream.read(bytes.data(), std::streamsize(bytes.size()));
  return bytes;
}

RankGrid grid_of(const Dims& grid) { return {&ranks(), grid}; }

TEST(RankFiles, LinksAreTheSameBytesOnEveryGrid) {
  const SharedFolder folder;
  const GaugeStart start = GaugeStart::hot(testing::shared_seed());
  for (const int bits : {32, 64}) {
    const std::string reference = folder.file("one" + std::to_string(bits));
    const Lattice whole(divided_dims);
    Checksum expected{};
    if (ranks().rank() == 0)
      expected = write_gauge_file(reference, GaugeStore(whole, start, backend()), {.precision = bits});
    testing::all_ranks()->broadcast(&expected, sizeof expected, 0);
    for (const Dims& grid : testing::some_grids()) {
      const Lattice lattice(divided_dims, ranks().communicator(grid));
      const std::string path = folder.file("many");
      EXPECT_EQ(write_gauge_file(path, GaugeStore(lattice, start, backend()), {.precision = bits}), expected)
          << grid_text(grid);
      const GaugeFile back = read_gauge_file(path, {.ranks = grid_of(grid)});
      EXPECT_EQ(back.info.checksum.state, ChecksumVerdict::State::ok);
      EXPECT_EQ(data_of(path, back.info.data), data_of(reference, LimeInput(reference).records()[5]))
          << grid_text(grid);
      if (bits == 64) {
        EXPECT_EQ(back.links->host_links().data, GaugeStore(*back.lattice, start, backend()).host_links().data);
        EXPECT_EQ(checksum_of(*back.links), expected);
      }
    }
  }
}

TEST(RankFiles, LinksOfOtherFormatsAreTheSameOnEveryGrid) {
  const SharedFolder folder;
  const Lattice whole(divided_dims);
  const HostLinks links = GaugeStore(whole, GaugeStart::hot(testing::shared_seed())).host_links();
  const std::vector<std::string> files = {
      testing::nersc_bytes(links, {2, "IEEE32BIG"}), testing::nersc_bytes(links, {3, "IEEE64LITTLE"}),
      testing::milc_bytes(links, true),
      testing::openqcd_bytes(links, GaugeStore(whole, links).observables().plaquette)};
  for (std::size_t n = 0; n < files.size(); ++n) {
    const std::string path = folder.file("links" + std::to_string(n)), damaged = path + "damaged";
    if (ranks().rank() == 0) {
      std::ofstream(path, std::ios::binary) << files[n];
      std::string bytes = files[n];
      bytes[bytes.size() - 9] = char(bytes[bytes.size() - 9] ^ 1);  // in the part of the last rank
      std::ofstream(damaged, std::ios::binary) << bytes;
    }
    testing::all_ranks()->barrier();
    const GaugeFile alone = read_gauge_file(path);
    const HostLinks expected = alone.links->host_links();
    for (const Dims& grid : testing::some_grids(3)) {
      const GaugeFile divided = read_gauge_file(path, {.backend = &backend(), .ranks = grid_of(grid)});
      EXPECT_EQ(divided.info.checksum.state, alone.info.checksum.state) << grid_text(grid);
      EXPECT_EQ(divided.info.checksum.computed, alone.info.checksum.computed);
      EXPECT_EQ(divided.info.links_sum, alone.info.links_sum);
      EXPECT_EQ(divided.info.links_sum, checksum_of(*divided.links));
      const HostLinks found = divided.links->host_links();
      for (std::int64_t site = 0; site < divided.lattice->volume(); ++site) {
        const std::int64_t global = divided.lattice->global_site(divided.lattice->coordinates(site));
        ASSERT_TRUE(std::equal(found.link(site, 0), found.link(site, 0) + 36, expected.link(global, 0))) << site;
      }
      try {
        (void)read_gauge_file(damaged, {.backend = &backend(), .ranks = grid_of(grid)});
        ADD_FAILURE() << "read";
      } catch (const Error& error) {
        const char* const says = alone.info.checksum.state == ChecksumVerdict::State::missing
                                     ? "the header says plaquette"
                                     : "checksum mismatch";
        EXPECT_NE(error.message().find(says), std::string::npos) << error.message();
      }
    }
  }
}

TEST(RankFiles, PropagatorsAreTheSameBytesOnEveryGrid) {
  const SharedFolder folder;
  const std::uint64_t seed = testing::shared_seed();
  const auto fill = [&](Propagator& propagator) {  // numbers of the global site
    const Lattice& lattice = *propagator.desc().lattice;
    for (std::size_t column = 0; column < propagator.columns.size(); ++column) {
      HostSpinor host(lattice.dims());
      for (std::int64_t site = 0; site < lattice.volume(); ++site) {
        SiteRandom random(seed + column, RandomPurpose::Test, lattice.global_site(lattice.coordinates(site)));
        for (int n = 0; n < 12; ++n) host.data[std::size_t(site * 12 + n)] = {random.normal(), random.normal()};
      }
      import_spinor(propagator.columns[column], host);
    }
  };
  const auto made_on = [&](const Lattice& lattice) {
    Propagator propagator = make_propagator(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend()),
                                            Propagator::Sink::ukqcd);
    fill(propagator);
    return propagator;
  };
  const Lattice whole(divided_dims);
  const std::string reference = folder.file("one");
  const Propagator alone = made_on(whole);
  const std::vector<double> expected = slice_norms(alone);
  if (ranks().rank() == 0) write_propagator_file(reference, alone, {}, {.precision = 64});
  for (const Dims& grid : testing::some_grids(3)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    const Propagator many = made_on(lattice);
    const std::string path = folder.file("many");
    const Checksum sum = write_propagator_file(path, many, {}, {.precision = 64});
    const PropagatorFile back = read_propagator_file(path, lattice, cpu_backend());
    EXPECT_EQ(back.info.checksum.state, ChecksumVerdict::State::ok);
    EXPECT_EQ(back.info.checksum.computed, sum);
    EXPECT_EQ(data_of(path, back.info.data), data_of(reference, locate_propagator(LimeInput(reference)).data));
    for (const Propagator* one : {&many, &back.propagator}) {
      const std::vector<double> norms = slice_norms(*one);
      ASSERT_EQ(norms.size(), expected.size());
      for (std::size_t t = 0; t < norms.size(); ++t) EXPECT_NEAR(norms[t] / expected[t], 1, 1e-13);
    }
  }
}

/// The last site, of the last rank.
TEST(RankFiles, ABadNumberOnOneRankLeavesNoFile) {
  const SharedFolder folder;
  for (const Dims& grid : testing::some_grids(2)) {
    const Lattice lattice(divided_dims, ranks().communicator(grid));
    HostLinks links = GaugeStore(lattice, GaugeStart::weak(testing::shared_seed(), 0.3), backend()).host_links();
    if (ranks().rank() == ranks().size() - 1)
      links.link(lattice.volume() - 1, 3)[4] = std::numeric_limits<double>::quiet_NaN();
    const GaugeStore store(lattice, links, backend());
    try {
      write_gauge_file(folder.file("bad"), store);
      ADD_FAILURE() << "written";
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("site (7,11,3,15), direction t (row 1, column 1)"), std::string::npos)
          << error.message();
    }
    EXPECT_EQ(folder.count(), 0u);
  }
}

TEST(RankFiles, AFolderThatIsNotThereFailsOnAll) {
  const Lattice lattice(divided_dims, ranks().communicator(testing::some_grids(1)[0]));
  std::string caught;
  try {
    write_gauge_file("/nowhere/a.lime", GaugeStore(lattice, GaugeStart::cold(), backend()));
  } catch (const Error& error) {
    caught = "error";
  } catch (const FailedElsewhere& elsewhere) {
    caught = "elsewhere";
  }
  EXPECT_EQ(caught, ranks().rank() == 0 ? "error" : "elsewhere");
}

}  // namespace
}  // namespace quadrille
