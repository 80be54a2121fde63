#include "core/error.h"

#include "core/printable.h"

#include <fmt/format.h>

#include <utility>

namespace quadrille {

std::string to_string(const Location& where) {
  std::string text = printable(where.file);
  if (where.line > 0) text += fmt::format("{}{}", text.empty() ? "line " : ":", where.line);
  if (where.line > 0 && where.column > 0) text += fmt::format(":{}", where.column);
  auto append = [&text](const std::string& part, const char* separator) {
    if (!text.empty()) text += separator;
    text += part;
  };
  if (!where.record.empty()) append(fmt::format("record {}", printable(where.record)), ": ");
  if (!where.dataset.empty()) append(fmt::format("dataset {}", printable(where.dataset)), ": ");
  if (where.byte >= 0) append(fmt::format("byte {}", where.byte), where.record.empty() ? ": " : ", ");
  return text;
}

Error::Error(ErrorCode code, std::string message, Location where)
    : code_(code), message_(printable(message, LineFeeds::kept)), where_(std::move(where)) {
  const std::string place = to_string(where_);
  full_ = place.empty() ? message_ : place + ": " + message_;
}

}  // namespace quadrille
