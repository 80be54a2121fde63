// What the tests of gauge files share.
#pragma once

#include "input/files/gauge_file.h"
#include "lime_testing.h"

#include <optional>
#include <string>
#include <vector>

namespace quadrille::testing {

class GaugeFileTest : public ::testing::Test {
 protected:
  GaugeFileTest() : generator_(fresh_generator()) {}

  /// The records of a good file with unequal extents, to be spoiled.
  std::vector<RawRecord> good_records(int precision = 64) {
    write_gauge_file(folder_.file("good.ildg"), random_links({2, 4, 6, 2}, generator_),
                     {.precision = precision, .lfn = "lfn://test"});
    return raw_records(read_bytes(folder_.file("good.ildg")));
  }
  std::string saved(const std::vector<RawRecord>& records) const {
    write_bytes(folder_.file("a.ildg"), raw_bytes(records));
    return folder_.file("a.ildg");
  }
  /// Reading a file of these records must fail with all these words and the file's name.
  std::optional<Error> expect_bad(const std::vector<RawRecord>& records, std::vector<std::string> parts,
                                  bool verify_checksum = true) const {
    const std::string path = saved(records);
    parts.push_back(path);
    return expect_error([&] { read_gauge_file(path, {.verify_checksum = verify_checksum}); }, parts);
  }
  static std::size_t data_at(std::vector<RawRecord> records, const std::string& type = "ildg-binary-data") {
    return find_raw(records = raw_records(raw_bytes(records)), type).data_at();
  }

  TemporaryFolder folder_;
  std::mt19937_64 generator_;
};

}  // namespace quadrille::testing
