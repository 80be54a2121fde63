// CSR dumps of CP2K.
#include "modules/shared/elements/element_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>

namespace quadrille {
namespace {

[[noreturn]] void fail_at_dump(const std::string& path, const std::string& message) {
  throw Error(ErrorCode::file, message, Location{.file = path});
}

/// CSR dumps of CP2K (S_CSR_WRITE, KS_CSR_WRITE): row, column and value of an element, from 1; a line of text each, or
/// a record of Fortran: its length before and after it. With UPPER_TRIANGULAR elements below the diagonal are not
/// there. The number of rows is that of the last element.
class Cp2kElements final : public ElementSource {
 public:
  Cp2kElements(const std::string& path, bool binary) : path_(path), binary_(binary), stream_(path, std::ios::binary) {
    if (!stream_) fail_at_dump(path_, "cannot be opened");
  }

  std::optional<std::int64_t> size_in_head() const override { return std::nullopt; }
  int base() const override { return 1; }

  std::int64_t size() override {
    if (last_row_ != 0) return last_row_;
    std::int32_t last_column = 0;
    bool below = false;
    Element e{};
    while (read(e)) {
      last_row_ = std::max(last_row_, e.row + 1);
      last_column = std::max(last_column, e.column + 1);
      below = below || e.row > e.column;
    }
    rewind();
    if (last_row_ != last_column) {
      fail_at_dump(path_,
                   fmt::format("ends early: there are {} columns, but the last row is {}", last_column, last_row_));
    }
    upper_ = !below;
    return last_row_;
  }

  void next(std::size_t most, std::vector<Element>& piece) override {
    size();
    piece.clear();
    Element e{};
    while ((piece.empty() || piece.size() + 1 < most) && read(e)) {
      piece.push_back(e);
      if (upper_ && e.row != e.column) piece.push_back({e.column, e.row, e.value});
    }
    if (piece.empty()) rewind();
  }

 private:
  void rewind() {
    stream_.clear();
    stream_.seekg(0);
    count_ = 0;
  }

  bool read(Element& e) { return binary_ ? read_record(e) : read_line(e); }

  bool read_record(Element& e) {
#pragma pack(push, 4)
    struct Record {
      std::int32_t before, row, column;
      double value;
      std::int32_t after;
    };
#pragma pack(pop)
    static_assert(sizeof(Record) == 24);
    Record record{};
    stream_.read(reinterpret_cast<char*>(&record), sizeof record);
    if (stream_.gcount() == 0) return false;
    const Location where{.file = path_, .byte = count_ * std::int64_t(sizeof record)};
    if (stream_.gcount() != sizeof record) {
      throw Error(ErrorCode::file, fmt::format("ends early, within element {}", count_ + 1), where);
    }
    if (record.before != cp2k_record || record.after != cp2k_record) {
      throw Error(ErrorCode::file,
                  fmt::format("the record has {} bytes: records of real numbers in double precision have {}",
                              record.before, cp2k_record),
                  where);
    }
    e = checked(record.row, record.column, record.value, where);
    return true;
  }

  bool read_line(Element& e) {
    if (!std::getline(stream_, text_)) return false;
    const Location where = place_of_line(path_, count_ + 1);
    if (stream_.eof()) throw Error(ErrorCode::file, "ends early: the last line is incomplete", where);
    std::int32_t row = 0, column = 0;
    double value = 0;
    const char* at = text_.data();
    const char* const end = at + text_.size();
    const auto take = [&](auto& number) {
      while (at != end && *at == ' ') ++at;
      const auto [past, error] = std::from_chars(at, end, number);
      const bool good = error == std::errc() && past != at;
      at = past;
      return good;
    };
    const bool good = take(row) && take(column) && take(value);
    while (at != end && (*at == ' ' || *at == '\r')) ++at;
    if (!good || at != end) {
      throw Error(ErrorCode::file, "'" + text_ + "' is not row, column and one real value", where);
    }
    e = checked(row, column, value, where);
    return true;
  }

  Element checked(std::int32_t row, std::int32_t column, double value, const Location& where) {
    if (row < 1 || column < 1) {
      throw Error(ErrorCode::file, fmt::format("element ({}, {}): rows and columns count from 1", row, column), where);
    }
    if (!std::isfinite(value)) {
      throw Error(ErrorCode::numerical, fmt::format("element ({}, {}) is {}: it must be finite", row, column, value),
                  where);
    }
    ++count_;
    return {row - 1, column - 1, value};
  }

  std::string path_;
  bool binary_;
  std::ifstream stream_;
  std::string text_;
  std::int64_t count_ = 0;  ///< elements read
  std::int32_t last_row_ = 0;
  bool upper_ = false;  ///< those below the diagonal are not in the file
};

}  // namespace

std::unique_ptr<ElementSource> cp2k_elements(const std::string& path, bool binary) {
  return std::make_unique<Cp2kElements>(path, binary);
}

}  // namespace quadrille
