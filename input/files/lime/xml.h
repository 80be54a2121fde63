// The little XML that lattice files need: the text of elements in small, known documents.
#pragma once

#include "core/error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quadrille {

/// A parsed document (pugixml). Names are compared without namespace prefixes; attributes, comments, the prologue,
/// trailing NULs and white space around texts are passed over.
class Xml {
 public:
  /// `where` is the place of the first byte of `text`. Errors: ErrorCode::file, the place of what cannot be parsed.
  Xml(std::string_view text, Location where);
  Xml(Xml&&) noexcept;
  Xml& operator=(Xml&&) noexcept;
  ~Xml();

  /// Text of the first element at this path from the root, as "scidacRecord/precision"; "//t_srce" takes the first
  /// element of that name at any depth.
  std::optional<std::string> find(std::string_view path) const;
  /// Names and texts of the elements inside the first one at this path; none when it is missing.
  std::vector<std::pair<std::string, std::string>> children(std::string_view path) const;
  bool has(std::string_view path) const { return find(path).has_value(); }
  /// The same, demanded: ErrorCode::file naming the element when it is missing or empty.
  std::string text(std::string_view path) const;
  /// A whole number of at least `minimum`: an error otherwise.
  std::int64_t integer(std::string_view path, std::int64_t minimum = 0) const;
  /// A 32-bit word in hexadecimal, with or without 0x.
  std::uint32_t hexadecimal(std::string_view path) const;
  const Location& where() const { return where_; }

 private:
  struct Document;
  std::unique_ptr<Document> document_;
  Location where_;
};

/// "&", "<", ">" and quotes as entities.
std::string xml_escaped(std::string_view text);

}  // namespace quadrille
