// A text file line by line, with errors that name the line.
#pragma once

#include "core/error.h"

#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace quadrille::md {

class TextLines {
 public:
  explicit TextLines(const std::string& path) : path_(path) {
    std::error_code status;
    const auto kind = std::filesystem::status(path, status).type();
    if (kind == std::filesystem::file_type::not_found) refuse("no such file");
    if (kind != std::filesystem::file_type::regular) refuse("this is not a regular file");
    std::ifstream in(path, std::ios::binary);
    if (!in) refuse("cannot be read");
    for (std::string line; std::getline(in, line);) {
      if (lines_.empty()) refuse_netcdf(line);
      if (line.find('\0') != std::string::npos)
        fail("this is not a text file: there is a NUL here", lines_.size(), line.find('\0'));
      if (!line.empty() && line.back() == '\r') line.pop_back();
      lines_.push_back(line);
    }
    if (in.bad()) refuse("cannot be read");
  }

  std::size_t count() const { return lines_.size(); }
  const std::string& operator[](std::size_t line) const { return lines_[line]; }

  /// `line` and `column` from 0.
  [[noreturn]] void fail(const std::string& message, std::size_t line, std::size_t column = 0,
                         ErrorCode code = ErrorCode::file) const {
    throw Error(code, message, {path_, int(line) + 1, int(column) + 1});
  }

  /// The number in this part of a line; Fortran's D is an exponent too.
  double real(std::size_t line, std::size_t column, std::size_t width) const {
    std::string text = trimmed(line, column, width);
    for (char& c : text) c = c == 'D' || c == 'd' ? 'e' : c;
    double value = 0;
    const char* const begin = text.data() + (!text.empty() && text[0] == '+' ? 1 : 0);
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
      fail("'" + text + "' is not a finite number", line, column);
    }
    return value;
  }
  long integer(std::size_t line, std::size_t column, std::size_t width) const {
    const std::string text = trimmed(line, column, width);
    long value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
      fail("'" + text + "' is not an integer", line, column);
    }
    return value;
  }
  std::string trimmed(std::size_t line, std::size_t column, std::size_t width) const {
    const std::string& text = lines_[line];
    const std::string part = column < text.size() ? text.substr(column, width) : "";
    const std::size_t first = part.find_first_not_of(" \t");
    return first == std::string::npos ? "" : part.substr(first, part.find_last_not_of(" \t") - first + 1);
  }

  /// A word of a line: where it begins and how long it is.
  struct Word {
    std::size_t column, width;
  };
  /// The words before a comment ('#').
  std::vector<Word> words(std::size_t line) const {
    const std::string text = lines_[line].substr(0, lines_[line].find('#'));
    std::vector<Word> out;
    for (std::size_t at = text.find_first_not_of(" \t"); at != std::string::npos;) {
      const std::size_t end = std::min(text.find_first_of(" \t", at), text.size());
      out.push_back({at, end - at});
      at = text.find_first_not_of(" \t", end);
    }
    return out;
  }

 private:
  [[noreturn]] void refuse(const std::string& message) const { throw Error(ErrorCode::file, message, {.file = path_}); }

  /// AMBER writes restarts as NetCDF unless told otherwise; its newer form is HDF5.
  void refuse_netcdf(std::string_view start) const {
    if (!start.starts_with("CDF") && !start.starts_with("\x89HDF")) return;
    throw Error(ErrorCode::unsupported,
                "this is a NetCDF file; text is needed: write the restart with ntxo = 1, or convert it with cpptraj "
                "(trajout NAME.rst7 restart)",
                {.file = path_});
  }

  std::string path_;
  std::vector<std::string> lines_;
};

}  // namespace quadrille::md
