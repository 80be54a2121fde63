// LIME files: records of typed data, several to a message (format: c-lime's manual, lime_1p2).
//
// A header of 144 bytes, big-endian: u32 magic 0x456789ab, u16 version 1, u8 flags (0x80 begins a message, 0x40 ends
// one), u8 reserved, u64 data length, 128-byte NUL-padded type. Data is padded with NULs to a multiple of 8 bytes.
//
// The built-in codec always scans and validates a file as a whole. The bytes are then moved by it or by c-lime.
#pragma once

#include "core/comm/communicator.h"
#include "core/error.h"
#include "core/system/atomic_file.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille {

constexpr std::uint64_t lime_header_bytes = 144;

/// Bytes after data of this length that fill it up to a multiple of 8.
constexpr std::uint64_t lime_padding(std::uint64_t length) { return (8 - length % 8) % 8; }

struct LimeRecord {
  int number = 0;   ///< from 1, through the whole file
  int message = 0;  ///< from 1
  std::string type;
  bool begins_message = false;
  bool ends_message = false;
  std::uint64_t header_byte = 0;  ///< where its header starts in the file
  std::uint64_t data_byte = 0;    ///< where its data starts
  std::uint64_t length = 0;       ///< bytes of data, without padding
  std::uint64_t padding = 0;
  std::string warning;  ///< what suggests a wrong length field though the record can be read; mostly empty
};

/// Place of an error: file, "4 (ildg-binary-data)" and the byte `offset` of the record's data.
Location lime_location(const std::string& path, const LimeRecord& record, std::uint64_t offset = 0);

/// All records of a file, in order. Errors: ErrorCode::file when the file cannot be opened, is a folder, is empty or
/// not LIME, and when any record is not what the format demands (magic, version, flags, type, length and padding within
/// the file, nothing after the last record, last message ended); each names record, type and byte.
///
/// A length field that is wrong by so little that the padding hides it is no error: the record gets a warning when its
/// padding is not all NULs or when its XML does not end with '>'. NULs at the end of a text tell nothing: QIO counts
/// one as data, other programs none.
std::vector<LimeRecord> scan_lime(const std::string& path);

/// Who moves the bytes.
enum class LimeMover {
  automatic,  ///< c-lime when built with it
  builtin,
  clime,  ///< ErrorCode::unsupported when not built with it
};
/// True when this Quadrille was built with c-lime.
bool lime_has_clime();

/// Moves bytes of records that the scan has found good.
class LimeSource {
 public:
  virtual ~LimeSource() = default;
  /// Copies data[offset .. offset + bytes) of `record`.
  virtual void read(const LimeRecord& record, std::uint64_t offset, void* to, std::size_t bytes) = 0;
  /// Whether several threads may read at once.
  virtual bool concurrent() const { return false; }
};

/// Writes records one after another, padding included.
class LimeSink {
 public:
  virtual ~LimeSink() = default;
  virtual void begin_record(const LimeRecord& record) = 0;
  virtual void write(const void* data, std::size_t bytes) = 0;
  /// Whether write_at() can be used, and by several threads at once.
  virtual bool concurrent() const { return false; }
  /// Writes data[offset .. offset + bytes) of the record that is begun, whose data all come this way.
  virtual void write_at(const LimeRecord& record, std::uint64_t offset, const void* data, std::size_t bytes);
  virtual void end_record(const LimeRecord& record) = 0;
  /// Hands everything to the system.
  virtual void flush() = 0;
};

/// A scanned file, open for reading.
class LimeInput {
 public:
  explicit LimeInput(const std::string& path, LimeMover mover = LimeMover::automatic);

  const std::string& path() const { return path_; }
  const std::vector<LimeRecord>& records() const { return records_; }
  /// The first record of this type (of message number `message` when it is not 0), or null.
  const LimeRecord* find(std::string_view type, int message = 0) const;
  void read(const LimeRecord& record, std::uint64_t offset, void* to, std::size_t bytes) const;
  /// Whether several threads may read at once.
  bool concurrent() const { return source_->concurrent(); }
  /// Logs the warnings of all records, with the byte where the data ends by the length field.
  void log_warnings() const;
  /// A record's data as text, without trailing NULs. Errors: ErrorCode::file when it is longer than 16 MiB.
  std::string text(const LimeRecord& record) const;

 private:
  std::string path_;
  std::vector<LimeRecord> records_;
  std::unique_ptr<LimeSource> source_;
};

/// A file that exists under its name only after commit() (see AtomicFile, also for the errors of writing).
///
/// Over several ranks all members are collective but write_at() and begin_writeback(): each rank writes its part of the
/// data in place, the first one everything else. They move the bytes themselves then, and devices and pipes are
/// refused.
class LimeOutput {
 public:
  explicit LimeOutput(const std::string& path, LimeMover mover = LimeMover::automatic,
                      const Communicator& communicator = *single_process());
  LimeOutput(const LimeOutput&) = delete;
  LimeOutput& operator=(const LimeOutput&) = delete;
  ~LimeOutput();

  /// The data follows in write() calls of `length` bytes in all. Breaking the rules of the format (flags, type longer
  /// than 127 bytes, too few or too many bytes) is an ErrorCode::internal.
  void begin_record(std::string_view type, std::uint64_t length, bool begins_message, bool ends_message);
  void write(const void* data, std::size_t bytes);
  /// Whether write_at() can be used, and by several threads at once: not with c-lime, nor into devices and pipes.
  bool concurrent() const { return sink_->concurrent(); }
  /// Instead of write() for a whole record: its data[offset .. offset + bytes), each byte once, in any order.
  void write_at(std::uint64_t offset, const void* data, std::size_t bytes);
  /// Lets the system begin to carry what write_at() wrote there to the disk.
  void begin_writeback(std::uint64_t offset, std::uint64_t bytes);
  void end_record();
  /// A whole record at once.
  void record(std::string_view type, std::string_view data, bool begins_message, bool ends_message);
  void commit();
  const std::string& path() const { return path_; }

 private:
  void demand(bool holds, const char* rule) const;
  bool first() const { return communicator_.rank() == 0; }
  bool alone() const { return communicator_.size() == 1; }

  const Communicator& communicator_;
  std::string path_;
  std::optional<AtomicFile> file_;
  std::unique_ptr<LimeSink> sink_;
  LimeRecord record_;
  std::atomic<std::uint64_t> written_ = 0;
  bool in_record_ = false;
  bool in_message_ = false;
};

/// The two movers of c-lime; null when not built with it. (lime_clime.cpp or lime_no_clime.cpp)
std::unique_ptr<LimeSource> make_clime_source(const std::string& path);
std::unique_ptr<LimeSink> make_clime_sink(const AtomicFile& file);

}  // namespace quadrille
