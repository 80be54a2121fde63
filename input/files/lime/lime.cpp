#include "input/files/lime/lime.h"

#include "core/comm/agreement.h"
#include "core/system/log.h"
#include "input/files/big_endian.h"
#include "input/files/input_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace quadrille {

namespace {

class BuiltinSource : public LimeSource {
 public:
  explicit BuiltinSource(const std::string& path) : file_(path) {}
  void read(const LimeRecord& record, std::uint64_t offset, void* to, std::size_t bytes) override {
    file_.read(record.data_byte + offset, to, bytes);
  }
  bool concurrent() const override { return true; }

 private:
  InputFile file_;
};

/// Knows where it stands, so that data may be written out of order; devices and pipes take all in order.
class BuiltinSink : public LimeSink {
 public:
  explicit BuiltinSink(AtomicFile& file) : file_(file) {}
  void begin_record(const LimeRecord& record) override {
    std::array<unsigned char, lime_header_bytes> header{};
    store_big_u32(header.data(), 0x456789ab);
    store_big_u16(header.data() + 4, 1);
    header[6] = static_cast<unsigned char>((record.begins_message ? 0x80 : 0) | (record.ends_message ? 0x40 : 0));
    store_big_u64(header.data() + 8, record.length);
    std::copy(record.type.begin(), record.type.end(), header.begin() + 16);
    at_ = record.header_byte;
    write(header.data(), header.size());
  }
  void write(const void* data, std::size_t bytes) override {
    if (file_.positional())
      file_.write_at(at_, data, bytes);
    else
      file_.write(data, bytes);
    at_ += bytes;
  }
  bool concurrent() const override { return file_.positional(); }
  void write_at(const LimeRecord& record, std::uint64_t offset, const void* data, std::size_t bytes) override {
    file_.write_at(record.data_byte + offset, data, bytes);
  }
  void end_record(const LimeRecord& record) override {
    constexpr std::array<char, 8> zeros{};
    at_ = record.data_byte + record.length;
    write(zeros.data(), std::size_t(record.padding));
  }
  void flush() override {}

 private:
  AtomicFile& file_;
  std::uint64_t at_ = 0;  ///< in the file
};

bool use_clime(LimeMover mover) {
  if (mover == LimeMover::clime && !lime_has_clime())
    throw Error(ErrorCode::unsupported, "this Quadrille was built without c-lime; configure with QUADRILLE_LIME=ON");
  return mover != LimeMover::builtin && lime_has_clime();
}

}  // namespace

void LimeSink::write_at(const LimeRecord& record, std::uint64_t, const void*, std::size_t) {
  throw Error(ErrorCode::internal, fmt::format("the record {} can only be written in order", record.type));
}

LimeInput::LimeInput(const std::string& path, LimeMover mover) : path_(path), records_(scan_lime(path)) {
  if (use_clime(mover))
    source_ = make_clime_source(path);
  else
    source_ = std::make_unique<BuiltinSource>(path);
}

const LimeRecord* LimeInput::find(std::string_view type, int message) const {
  for (const LimeRecord& record : records_)
    if (record.type == type && (message == 0 || record.message == message)) return &record;
  return nullptr;
}

void LimeInput::read(const LimeRecord& record, std::uint64_t offset, void* to, std::size_t bytes) const {
  if (offset > record.length || bytes > record.length - offset)
    throw Error(
        ErrorCode::internal,
        fmt::format("{} bytes from byte {} were requested, but the record has {} bytes", bytes, offset, record.length),
        lime_location(path_, record));
  if (bytes > 0) source_->read(record, offset, to, bytes);
}

void LimeInput::log_warnings() const {
  for (const LimeRecord& record : records_)
    if (!record.warning.empty())
      log().warn("{}: {}", to_string(lime_location(path_, record, record.length)), record.warning);
}

std::string LimeInput::text(const LimeRecord& record) const {
  constexpr std::uint64_t most = std::uint64_t(16) << 20;
  if (record.length > most)
    throw Error(ErrorCode::file, fmt::format("a text record of {} bytes; at most {} are allowed", record.length, most),
                lime_location(path_, record));
  std::string text(std::size_t(record.length), '\0');
  read(record, 0, text.data(), text.size());
  text.erase(text.find_last_not_of('\0') + 1);
  return text;
}

LimeOutput::LimeOutput(const std::string& path, LimeMover mover, const Communicator& communicator)
    : communicator_(communicator), path_(path) {
  on_first_rank(communicator, [&] {
    file_.emplace(path);
    if (!alone() && !file_->positional())
      throw Error(ErrorCode::unsupported, "several ranks cannot write to a device or a pipe", {.file = path});
  });
  const std::string temporary = share(communicator, first() ? file_->temporary() : "");
  all_or_none(communicator, [&] {
    if (!first()) file_.emplace(path, temporary);
    if (alone() && use_clime(mover))
      sink_ = make_clime_sink(*file_);
    else
      sink_ = std::make_unique<BuiltinSink>(*file_);
  });
}

LimeOutput::~LimeOutput() = default;

void LimeOutput::demand(bool holds, const char* rule) const {
  if (!holds) throw Error(ErrorCode::internal, fmt::format("writing LIME: {}", rule), lime_location(path(), record_));
}

void LimeOutput::begin_record(std::string_view type, std::uint64_t length, bool begins_message, bool ends_message) {
  demand(!in_record_, "a record is begun inside another one");
  demand(begins_message != in_message_, "the message-begin flag is wrong");
  demand(!type.empty() && type.size() < 128, "a type has 1 to 127 characters");
  record_.header_byte = record_.number == 0 ? 0 : record_.data_byte + record_.length + record_.padding;
  record_.data_byte = record_.header_byte + lime_header_bytes;
  record_.number += 1;
  record_.type = type;
  record_.begins_message = begins_message;
  record_.ends_message = ends_message;
  record_.length = length;
  record_.padding = lime_padding(length);
  written_ = 0;
  in_record_ = true;
  in_message_ = true;
  on_first_rank(communicator_, [&] { sink_->begin_record(record_); });
}

void LimeOutput::write(const void* data, std::size_t bytes) {
  demand(in_record_ && bytes <= record_.length - written_, "more data than the record's length");
  written_ += bytes;
  if (bytes == 0) return;
  on_first_rank(communicator_, [&] { sink_->write(data, bytes); });
}

void LimeOutput::write_at(std::uint64_t offset, const void* data, std::size_t bytes) {
  demand(in_record_ && offset <= record_.length && bytes <= record_.length - offset, "data outside the record");
  if (bytes > 0) sink_->write_at(record_, offset, data, bytes);
  written_ += bytes;
}

void LimeOutput::begin_writeback(std::uint64_t offset, std::uint64_t bytes) {
  file_->begin_writeback(record_.data_byte + offset, bytes);
}

void LimeOutput::end_record() {
  demand(in_record_ && (written_ == record_.length || !alone()), "less data than the record's length");
  on_first_rank(communicator_, [&] { sink_->end_record(record_); });
  in_record_ = false;
  in_message_ = !record_.ends_message;
}

void LimeOutput::record(std::string_view type, std::string_view data, bool begins_message, bool ends_message) {
  begin_record(type, data.size(), begins_message, ends_message);
  write(data.data(), data.size());
  end_record();
}

void LimeOutput::commit() {
  demand(!in_record_ && !in_message_ && record_.number > 0, "the last message is not finished");
  all_or_none(communicator_, [&] {
    sink_->flush();
    if (!alone()) file_->flush();
  });
  on_first_rank(communicator_, [&] { file_->commit(); });
}

}  // namespace quadrille
