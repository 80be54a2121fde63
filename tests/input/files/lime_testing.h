// What the tests of files share: a folder that vanishes, LIME records taken apart and put together without Quadrille's
// codec, random fields, and a check of error messages.
#pragma once

#include "core/error.h"
#include "core/field/host_field.h"
#include "core/su3/su3_project.h"
#include "core/system/log.h"
#include "tests/testing/random_seed.h"
#include "tests/testing/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace quadrille::testing {

namespace fs = std::filesystem;

inline std::string read_bytes(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline void write_bytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// A record as the format's text describes it; nothing here comes from input/files/lime.
struct RawRecord {
  std::string type, data;
  unsigned char flags = 0;
  std::size_t header = 0;  ///< offset in the file it was read from

  std::size_t data_at() const { return header + 144; }
  std::size_t end() const { return data_at() + (data.size() + 7) / 8 * 8; }
};

inline std::uint64_t big_number(const std::string& bytes, std::size_t at, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

inline void put_big_number(std::string& bytes, std::size_t at, std::uint64_t value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) bytes[at + i] = char(value >> (8 * (count - 1 - i)) & 0xff);
}

inline std::vector<RawRecord> raw_records(const std::string& bytes) {
  std::vector<RawRecord> records;
  for (std::size_t at = 0; at + 144 <= bytes.size();) {
    RawRecord record;
    record.header = at;
    record.flags = static_cast<unsigned char>(bytes[at + 6]);
    record.type = bytes.substr(at + 16, 128).c_str();
    record.data = bytes.substr(at + 144, std::size_t(big_number(bytes, at + 8, 8)));
    at = record.end();
    records.push_back(record);
  }
  return records;
}

inline std::string raw_bytes(const std::vector<RawRecord>& records) {
  std::string bytes;
  for (const RawRecord& record : records) {
    std::string header(144, '\0');
    put_big_number(header, 0, 0x456789ab, 4);
    put_big_number(header, 4, 1, 2);
    header[6] = char(record.flags);
    put_big_number(header, 8, record.data.size(), 8);
    header.replace(16, record.type.size(), record.type);
    bytes += header + record.data + std::string((8 - record.data.size() % 8) % 8, '\0');
  }
  return bytes;
}

/// The file of these records with the length field of one of them, and nothing else, changed.
inline std::string with_length_changed(const std::vector<RawRecord>& records, std::size_t index, int change) {
  std::string bytes = raw_bytes(records);
  const RawRecord record = raw_records(bytes)[index];
  put_big_number(bytes, record.header + 8, record.data.size() + std::uint64_t(change), 8);
  return bytes;
}

/// True when that file is as long by the changed length as by the right one.
inline bool padding_hides(const RawRecord& record, int change) {
  return (record.data.size() + std::uint64_t(change) + 7) / 8 == (record.data.size() + 7) / 8;
}

/// True when the bytes that a length shorter by `-change` leaves to the padding are not all NULs.
inline bool padding_tells(const RawRecord& record, int change) {
  return change < 0 &&
         record.data.substr(record.data.size() - std::size_t(-change)).find_first_not_of('\0') != std::string::npos;
}

/// What was logged while it lives.
class LogCapture {
 public:
  LogCapture() : before_(log().sinks()) { log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(stream_)}; }
  ~LogCapture() { log().sinks() = before_; }
  std::string text() const { return stream_.str(); }

 private:
  std::ostringstream stream_;
  std::vector<spdlog::sink_ptr> before_;
};

inline RawRecord& find_raw(std::vector<RawRecord>& records, const std::string& type) {
  for (RawRecord& record : records)
    if (record.type == type) return record;
  throw std::runtime_error("no record " + type);
}

inline void replace_text(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << from << " in " << text;
  text.replace(at, from.size(), to);
}

/// Removes records and sets the flags so that the first of them begins a message and the last ends it.
inline void one_message(std::vector<RawRecord>& records) {
  for (RawRecord& record : records) record.flags = 0;
  records.front().flags |= 0x80;
  records.back().flags |= 0x40;
}

/// Runs `body`, which must throw an Error whose text contains every part.
inline std::optional<Error> expect_error(const std::function<void()>& body, const std::vector<std::string>& parts) {
  try {
    body();
  } catch (const Error& error) {
    for (const std::string& part : parts) EXPECT_THAT(std::string(error.what()), ::testing::HasSubstr(part));
    return error;
  }
  ADD_FAILURE() << "no error";
  return std::nullopt;
}

inline HostLinks random_links(const Dims& dims, std::mt19937_64& generator) {
  HostLinks links(dims);
  std::normal_distribution<double> normal;
  for (std::size_t n = 0; n < links.data.size(); n += 9) {
    Matrix3 u;
    for (std::size_t i = 0; i < 9; ++i) u[i] = {normal(generator), normal(generator)};
    EXPECT_TRUE(project_su3(u));
    u.write(links.data.data() + n);
  }
  return links;
}

/// $QUADRILLE_DATA/gauge/name, or nothing when the variable is not set.
inline std::optional<std::string> data_file(const std::string& name) {
  const char* folder = std::getenv("QUADRILLE_DATA");
  if (!folder) return std::nullopt;
  return (fs::path(folder) / "gauge" / name).string();
}

#define QUADRILLE_DATA_FILE(variable, name)                                                       \
  const std::optional<std::string> variable##_found = quadrille::testing::data_file(name);        \
  if (!variable##_found) GTEST_SKIP() << "QUADRILLE_DATA does not name the folder of data files"; \
  const std::string variable = *variable##_found

}  // namespace quadrille::testing
