// Matrix Market files: coordinate and array, real, integer, pattern and complex, general, symmetric and Hermitian
// (math.nist.gov/MatrixMarket/formats.html).
#include "modules/shared/elements/element_sources.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <complex>
#include <fstream>
#include <sstream>
#include <type_traits>

namespace quadrille {
namespace {

/// The words of the first line.
struct Banner {
  bool array = false, complex = false, pattern = false;
  bool half = false, hermitian = false;  ///< half: the lower triangle is in the file
};

/// The lines of a file, without comments.
class Lines {
 public:
  explicit Lines(const std::string& path) : path_(path), stream_(path) {
    if (!stream_) throw Error(ErrorCode::file, "cannot be opened", Location{.file = path});
    (void)std::getline(stream_, text_);
    number_ = 1;
    read_banner();
    after_banner_ = stream_.tellg();
  }

  const Banner& banner() const { return banner_; }

  void rewind() {
    stream_.clear();
    stream_.seekg(after_banner_);
    number_ = 1;
  }

  /// The next line that says something; false at the end of the file.
  bool next() {
    while (std::getline(stream_, text_)) {
      ++number_;
      at_ = text_.data();
      skip_space();
      if (at_ != end() && *at_ != '%') return true;
    }
    return false;
  }

  template <class Number>
  Number take(const char* what) {
    skip_space();
    if (at_ != end() && *at_ == '+') ++at_;
    Number number{};
    const auto [past, error] = std::from_chars(at_, end(), number);
    if (error != std::errc() || past == at_ || (past != end() && !is_space(*past))) {
      fail(fmt::format("'{}' is not {}", text_, what));
    }
    at_ = past;
    return number;
  }
  void require_end(const char* what) {
    skip_space();
    if (at_ != end()) fail(fmt::format("'{}' is not {}", text_, what));
  }

  [[noreturn]] void fail(const std::string& message, ErrorCode code = ErrorCode::file) const {
    throw Error(code, message, place_of_line(path_, number_));
  }

 private:
  static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  const char* end() const { return text_.data() + text_.size(); }
  void skip_space() {
    while (at_ != end() && is_space(*at_)) ++at_;
  }

  void read_banner() {
    std::transform(text_.begin(), text_.end(), text_.begin(), [](unsigned char c) { return char(std::tolower(c)); });
    std::istringstream words(text_);
    std::string name, object, format, field, symmetry;
    words >> name >> object >> format >> field >> symmetry;
    if (name != "%%matrixmarket" || object != "matrix") fail("must begin with '%%MatrixMarket matrix'");
    banner_.array = format == "array";
    if (!banner_.array && format != "coordinate") fail(fmt::format("'{}' must be coordinate or array", format));
    banner_.complex = field == "complex";
    banner_.pattern = field == "pattern" && !banner_.array;
    if (!banner_.complex && !banner_.pattern && field != "real" && field != "integer") {
      fail(fmt::format("'{}' must be real, integer, complex or (of a coordinate matrix) pattern", field));
    }
    banner_.hermitian = symmetry == "hermitian";
    banner_.half = banner_.hermitian || symmetry == "symmetric";
    if (symmetry == "skew-symmetric") fail("the matrix is skew-symmetric: it must be symmetric or Hermitian");
    if (!banner_.half && symmetry != "general") {
      fail(fmt::format("'{}' must be general, symmetric or hermitian", symmetry));
    }
  }

  std::string path_;
  std::ifstream stream_;
  std::string text_;
  const char* at_ = nullptr;
  std::int64_t number_ = 0;
  std::streampos after_banner_;
  Banner banner_;
};

template <class T>
class MarketElements final : public MatrixElements<T> {
 public:
  explicit MarketElements(const std::string& path) : lines_(path), banner_(lines_.banner()) {
    if (banner_.complex && std::is_same_v<T, double>) lines_.fail("holds complex numbers; real ones are needed");
    read_size();
  }

  std::int64_t size() override { return n_; }
  std::optional<std::int64_t> size_in_head() const override { return n_; }
  int base() const override { return 1; }

  void next(std::size_t most, std::vector<MatrixElement<T>>& piece) override {
    piece.clear();
    while (at_ < count_ && (piece.empty() || piece.size() + 1 < most)) {
      if (!lines_.next()) lines_.fail(fmt::format("ends early: it has {} of {} elements", at_, count_));
      ++at_;
      add(read_element(), piece);
    }
    if (!piece.empty()) return;
    if (lines_.next()) lines_.fail(fmt::format("has more than the {} elements that its size line promises", count_));
    lines_.rewind();
    read_size();
  }

 private:
  void read_size() {
    const char* const what = banner_.array ? "rows and columns" : "rows, columns and elements";
    if (!lines_.next()) lines_.fail(fmt::format("ends early: it must have a line with {}", what));
    n_ = lines_.template take<std::int64_t>(what);
    const auto columns = lines_.template take<std::int64_t>(what);
    constexpr std::int64_t most = (std::int64_t(1) << 31) - 1;
    if (n_ != columns) lines_.fail(fmt::format("must be square, but is {} x {}", n_, columns));
    if (n_ < 1 || n_ > most) lines_.fail(fmt::format("{} rows: they must be 1 to {}", n_, most));
    count_ = !banner_.array ? lines_.template take<std::int64_t>(what) : banner_.half ? n_ * (n_ + 1) / 2 : n_ * n_;
    lines_.require_end(what);
    if (count_ < 0) lines_.fail(fmt::format("{} elements: there must be 0 or more", count_));
    at_ = 0;
    row_ = column_ = 0;
  }

  MatrixElement<T> read_element() {
    const char* const what = banner_.array     ? (banner_.complex ? "a complex number" : "a number")
                             : banner_.pattern ? "row and column"
                             : banner_.complex ? "row, column and a complex number"
                                               : "row, column and a number";
    MatrixElement<T> e{std::int32_t(row_), std::int32_t(column_), T(1)};
    if (banner_.array) {
      if (++row_ == n_) {
        ++column_;
        row_ = banner_.half ? column_ : 0;
      }
    } else {
      e.row = index(what) - 1;
      e.column = index(what) - 1;
      if (banner_.half && e.row < e.column) {
        lines_.fail(fmt::format("element ({}, {}) is above the diagonal: a {} matrix has its lower triangle only",
                                e.row + 1, e.column + 1, banner_.hermitian ? "Hermitian" : "symmetric"));
      }
    }
    if (!banner_.pattern) e.value = value(what, e);
    lines_.require_end(what);
    return e;
  }

  std::int32_t index(const char* what) {
    const auto k = lines_.template take<std::int64_t>(what);
    if (k < 1 || k > n_) lines_.fail(fmt::format("rows and columns are 1 to {}, not {}", n_, k));
    return std::int32_t(k);
  }

  T value(const char* what, const MatrixElement<T>& e) {
    const auto part = [&] {
      const auto x = lines_.template take<double>(what);
      if (std::isfinite(x)) return x;
      lines_.fail(fmt::format("element ({}, {}) is {}: it must be finite", e.row + 1, e.column + 1, x),
                  ErrorCode::numerical);
    };
    const double real = part(), imaginary = banner_.complex ? part() : 0;
    if constexpr (std::is_same_v<T, double>) {
      return real + imaginary;
    } else {
      return {real, imaginary};
    }
  }

  void add(const MatrixElement<T>& e, std::vector<MatrixElement<T>>& piece) const {
    piece.push_back(e);
    if (!banner_.half || e.row == e.column) return;
    T mirrored = e.value;
    if constexpr (!std::is_same_v<T, double>) {
      if (banner_.hermitian) mirrored = std::conj(mirrored);
    }
    piece.push_back({e.column, e.row, mirrored});
  }

  Lines lines_;
  Banner banner_;
  std::int64_t n_ = 0, count_ = 0, at_ = 0;
  std::int64_t row_ = 0, column_ = 0;  // of an array's next element
};

}  // namespace

template <class T>
std::unique_ptr<MatrixElements<T>> market_elements(const std::string& path) {
  return std::make_unique<MarketElements<T>>(path);
}
template std::unique_ptr<ElementSource> market_elements(const std::string&);
template std::unique_ptr<MatrixElements<std::complex<double>>> market_elements(const std::string&);

bool is_complex_market(const std::string& path) { return Lines(path).banner().complex; }

}  // namespace quadrille
