// The scan: every byte of a LIME file that is not data or padding is checked here, before anything is read.
#include "input/files/big_endian.h"
#include "input/files/file_kind.h"
#include "input/files/input_file.h"
#include "input/files/lime/lime.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

namespace quadrille {

namespace {

constexpr std::uint32_t lime_magic = 0x456789ab;
constexpr unsigned lime_version = 1;
constexpr std::size_t type_bytes = 128;

class Scanner {
 public:
  explicit Scanner(const std::string& path) : path_(path), file_(path), size_(file_.size()) {}

  std::vector<LimeRecord> scan() {
    if (size_ == 0) throw not_lime_error(path_);
    std::uint64_t at = 0;
    while (at < size_) {
      records_.push_back(read_header(at));
      check_flags(records_.back());
      check_data(records_.back());
      records_.back().warning = doubts(records_.back());
      at = records_.back().data_byte + records_.back().length + records_.back().padding;
    }
    const LimeRecord& last = records_.back();
    if (!last.ends_message)
      fail(last.number, last.type, size_,
           fmt::format("the file ends here, but message {} is not finished: its last record should have the "
                       "message-end flag. The file is cut off after this record",
                       last.message));
    return std::move(records_);
  }

 private:
  [[noreturn]] void fail(int number, const std::string& type, std::uint64_t byte, const std::string& message) const {
    const std::string name = type.empty() ? std::to_string(number) : fmt::format("{} ({})", number, type);
    throw Error(ErrorCode::file, message, {.file = path_, .record = name, .byte = std::int64_t(byte)});
  }

  LimeRecord read_header(std::uint64_t at) {
    const int number = int(records_.size()) + 1;
    const std::uint64_t left = size_ - at;
    std::array<unsigned char, lime_header_bytes> header{};
    const std::size_t have = std::size_t(std::min<std::uint64_t>(left, lime_header_bytes));
    file_.read(at, header.data(), have);
    const std::uint32_t magic = load_big_u32(header.data());
    if (have < 4 || magic != lime_magic) bad_magic(number, at, left, magic);
    if (have < lime_header_bytes)
      fail(number, "", at,
           fmt::format("the header of this record is cut off: it takes {} bytes, but the file has {} bytes and ends {} "
                       "bytes into it",
                       lime_header_bytes, size_, left));
    const unsigned version = load_big_u16(header.data() + 4);
    if (version != lime_version)
      fail(number, "", at + 4, fmt::format("LIME version {} in the header; only version 1 exists", version));
    LimeRecord record;
    record.number = number;
    record.begins_message = (header[6] & 0x80) != 0;
    record.ends_message = (header[6] & 0x40) != 0;
    record.length = load_big_u64(header.data() + 8);
    record.header_byte = at;
    record.data_byte = at + lime_header_bytes;
    record.padding = lime_padding(record.length);
    record.type = read_type(number, at + 16, header.data() + 16);
    return record;
  }

  [[noreturn]] void bad_magic(int number, std::uint64_t at, std::uint64_t left, std::uint32_t magic) const {
    if (number == 1) throw not_lime_error(path_);
    if (left < 4)
      fail(number, "", at,
           fmt::format("{} byte{} after the last record belong to no record: the file should end here, or continue "
                       "with a header of {} bytes",
                       left, left == 1 ? "" : "s", lime_header_bytes));
    fail(number, "", at,
         fmt::format("no LIME header: the magic number is {:08x}, but it should be {:08x}. Either the length of the "
                     "previous record is wrong, or {} bytes after the last record belong to no record",
                     magic, lime_magic, left));
  }

  std::string read_type(int number, std::uint64_t byte, const unsigned char* field) const {
    const unsigned char* end = std::find(field, field + type_bytes, '\0');
    const std::string type(field, end);
    if (type.empty()) fail(number, "", byte, "the record has no type; it should have a name such as ildg-binary-data");
    if (!std::all_of(field, end, [](unsigned char c) { return c > 32 && c < 127; }))
      fail(number, "", byte, "the type of the record is not printable text without spaces; the header is damaged");
    if (end == field + type_bytes)
      fail(number, type.substr(0, 20) + "...", byte,
           "the type of the record fills all 128 bytes; it should end in a NUL");
    if (!std::all_of(end, field + type_bytes, [](unsigned char c) { return c == 0; }))
      fail(number, type, byte + type.size(), "the type of the record is not padded with NULs to 128 bytes");
    return type;
  }

  void check_flags(LimeRecord& record) const {
    const LimeRecord* before = records_.size() > 1 ? &records_[records_.size() - 2] : nullptr;
    const bool message_open = before && !before->ends_message;
    if (message_open && record.begins_message)
      fail(record.number, record.type, record.header_byte + 6,
           fmt::format("the record begins a message, but message {} is not finished: the previous record lacks its "
                       "message-end flag (0x40), or this one should not have the message-begin flag (0x80)",
                       before->message));
    if (!message_open && !record.begins_message)
      fail(record.number, record.type, record.header_byte + 6,
           before ? "the previous record ended its message, so this one should have the message-begin flag (0x80)"
                  : "the first record should have the message-begin flag (0x80)");
    record.message = before ? before->message + (record.begins_message ? 1 : 0) : 1;
  }

  void check_data(const LimeRecord& record) const {
    const std::uint64_t left = size_ - record.data_byte;
    if (record.length > left)
      fail(record.number, record.type, record.header_byte + 8,
           fmt::format("the record's length is {} bytes, but only {} bytes follow its header: the file ends at byte "
                       "{}, so it is cut off, or the length is wrong",
                       record.length, left, size_));
    if (record.padding > left - record.length)
      fail(
          record.number, record.type, record.data_byte + record.length,
          fmt::format("the file ends at byte {} inside the padding: {} bytes of padding should follow {} bytes of data",
                      size_, record.padding, record.length));
  }

  /// What suggests that the length is wrong by a few bytes.
  std::string doubts(const LimeRecord& record) const {
    std::array<char, 8> padding{};
    if (record.padding > 0) file_.read(record.data_byte + record.length, padding.data(), std::size_t(record.padding));
    std::string text;
    if (std::any_of(padding.begin(), padding.end(), [](char c) { return c != 0; }))
      text = fmt::format("the padding is not zero: is the length field {} too short?", record.length);
    if (ends_unlike_xml(record))
      text += fmt::format("{}the XML does not end with '>': it is cut, or the length field {} is wrong",
                          text.empty() ? "" : "; ", record.length);
    return text;
  }

  /// True for a record that begins as XML and has another end. User records need not hold XML.
  bool ends_unlike_xml(const LimeRecord& record) const {
    const std::string& type = record.type;
    if (!type.ends_with("xml") && type != "ildg-format" && type != "scidac-checksum") return false;
    constexpr std::string_view blanks(" \t\r\n\0", 5);
    std::array<char, 256> part{};
    const std::size_t bytes = std::size_t(std::min<std::uint64_t>(record.length, part.size()));
    const std::string_view text(part.data(), bytes);
    if (bytes > 0) file_.read(record.data_byte, part.data(), bytes);
    if (const std::size_t first = text.find_first_not_of(blanks); first == text.npos || text[first] != '<')
      return false;
    file_.read(record.data_byte + record.length - bytes, part.data(), bytes);
    const std::size_t last = text.find_last_not_of(blanks);
    return last != text.npos && text[last] != '>';
  }

  const std::string& path_;
  InputFile file_;
  std::uint64_t size_;
  std::vector<LimeRecord> records_;
};

}  // namespace

std::vector<LimeRecord> scan_lime(const std::string& path) {
  Scanner scanner(path);
  return scanner.scan();
}

Location lime_location(const std::string& path, const LimeRecord& record, std::uint64_t offset) {
  return {.file = path,
          .record = fmt::format("{} ({})", record.number, record.type),
          .byte = std::int64_t(record.data_byte + offset)};
}

}  // namespace quadrille
