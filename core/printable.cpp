#include "core/printable.h"

#include <fmt/format.h>

namespace quadrille {

std::string printable(std::string_view text, LineFeeds line_feeds) {
  std::string out;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    const auto next = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0U;
    if (byte == '\n') {
      out += line_feeds == LineFeeds::kept ? "\n" : "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // UTF-8 of U+0080 to U+009F
      out += fmt::format("\\x{:02x}", next);
      ++at;
    } else {
      out += text[at];
    }
  }
  return out;
}

}  // namespace quadrille
