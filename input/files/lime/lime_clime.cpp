// c-lime moves the bytes of records that the built-in scan has found good. Compiled when CMake finds the package CLime.
#include "input/files/lime/lime.h"

extern "C" {
#include <lime.h>
}

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace quadrille {

namespace {

struct CloseStream {
  void operator()(std::FILE* stream) const { std::fclose(stream); }
};
struct DestroyReader {
  void operator()(::LimeReader* reader) const { limeDestroyReader(reader); }
};
struct DestroyWriter {
  void operator()(::LimeWriter* writer) const { limeDestroyWriter(writer); }
};
struct DestroyHeader {
  void operator()(::LimeRecordHeader* header) const { limeDestroyHeader(header); }
};
using Stream = std::unique_ptr<std::FILE, CloseStream>;

class ClimeSource : public LimeSource {
 public:
  explicit ClimeSource(const std::string& path) : path_(path), stream_(std::fopen(path.c_str(), "rb")) {
    if (stream_) reader_.reset(limeCreateReader(stream_.get()));
    if (!reader_)
      throw Error(ErrorCode::file, fmt::format("c-lime cannot read it: {}", std::strerror(errno)), {.file = path});
  }

  void read(const LimeRecord& record, std::uint64_t offset, void* to, std::size_t bytes) override {
    if (record.number != current_) open(record);
    check(limeReaderSeek(reader_.get(), off_t(offset), SEEK_SET), record, offset, "seek");
    n_uint64_t moved = bytes;
    check(limeReaderReadData(to, &moved, reader_.get()), record, offset, "read");
    if (moved != bytes) check(LIME_ERR_READ, record, offset, "read");
  }

 private:
  void open(const LimeRecord& record) {
    check(limeSetReaderPointer(reader_.get(), off_t(record.header_byte)), record, 0, "seek");
    check(limeReaderNextRecord(reader_.get()), record, 0, "read the header");
    if (limeReaderBytes(reader_.get()) != record.length || record.type != limeReaderType(reader_.get()))
      throw Error(ErrorCode::file,
                  "c-lime finds another record here than the scan did: the file was changed while being read",
                  lime_location(path_, record));
    current_ = record.number;
  }

  void check(int status, const LimeRecord& record, std::uint64_t offset, const char* what) {
    if (status == LIME_SUCCESS) return;
    current_ = 0;
    throw Error(ErrorCode::file, fmt::format("c-lime failed to {} (status {})", what, status),
                lime_location(path_, record, offset));
  }

  std::string path_;
  Stream stream_;
  std::unique_ptr<::LimeReader, DestroyReader> reader_;
  int current_ = 0;  ///< number of the record whose header c-lime has read
};

class ClimeSink : public LimeSink {
 public:
  explicit ClimeSink(const AtomicFile& file) : file_(file) {
    const int copy = ::dup(file.descriptor());
    if (copy >= 0) stream_.reset(::fdopen(copy, "wb"));
    if (stream_) writer_.reset(limeCreateWriter(stream_.get()));
    if (!writer_) file_.fail("c-lime cannot write it", errno);
  }

  void begin_record(const LimeRecord& record) override {
    std::string type = record.type;
    const std::unique_ptr<::LimeRecordHeader, DestroyHeader> header(
        limeCreateHeader(record.begins_message, record.ends_message, type.data(), record.length));
    check(header ? limeWriteRecordHeader(header.get(), writer_.get()) : LIME_ERR_PARAM);
  }

  void write(const void* data, std::size_t bytes) override {
    n_uint64_t moved = bytes;
    errno = 0;
    const int status = limeWriteRecordData(const_cast<void*>(data), &moved, writer_.get());
    check(moved == bytes ? status : LIME_ERR_WRITE);
  }

  void end_record(const LimeRecord& record) override {
    // A record with data is closed by the write that completes it.
    if (record.length == 0) check(limeWriterCloseRecord(writer_.get()));
  }

  void flush() override {
    errno = 0;
    if (std::fflush(stream_.get()) != 0) file_.fail("writing failed; the incomplete file was removed", errno);
  }

 private:
  void check(int status) const {
    // c-lime does not say whether the padding was written: the stream does.
    if (status != LIME_SUCCESS || std::ferror(stream_.get()) != 0)
      file_.fail(fmt::format("writing by c-lime failed (status {}); the incomplete file was removed", status),
                 errno != 0 ? errno : EIO);
  }

  const AtomicFile& file_;
  Stream stream_;
  std::unique_ptr<::LimeWriter, DestroyWriter> writer_;
};

}  // namespace

bool lime_has_clime() { return true; }
std::unique_ptr<LimeSource> make_clime_source(const std::string& path) { return std::make_unique<ClimeSource>(path); }
std::unique_ptr<LimeSink> make_clime_sink(const AtomicFile& file) { return std::make_unique<ClimeSink>(file); }

}  // namespace quadrille
