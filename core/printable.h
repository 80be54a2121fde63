// Names of files, and text out of them, for a terminal.
#pragma once

#include "core/api.h"

#include <string>
#include <string_view>

namespace quadrille {

enum class LineFeeds { escaped, kept };

/// Control characters as "\n", "\t", "\x1b" (those of U+0080 to U+009F too): a name neither ends a line nor steers a
/// terminal, and a NUL does not cut a message. All else stays as it is, backslashes too.
QUADRILLE_API std::string printable(std::string_view text, LineFeeds line_feeds = LineFeeds::escaped);

}  // namespace quadrille
