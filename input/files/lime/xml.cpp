#include "input/files/lime/xml.h"

#include <fmt/format.h>
#include <pugixml.hpp>

#include <charconv>
#include <cstring>
#include <utility>

namespace quadrille {

namespace {

std::string_view local_name(std::string_view name) {
  const std::size_t colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view blanks(" \t\r\n\0", 5);
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(blanks) - first + 1));
}

pugi::xml_node child(const pugi::xml_node& parent, std::string_view name) {
  return parent.find_child([name](const pugi::xml_node& node) { return local_name(node.name()) == name; });
}

pugi::xml_node descendant(const pugi::xml_node& parent, std::string_view name) {
  return parent.find_node([name](const pugi::xml_node& node) { return local_name(node.name()) == name; });
}

pugi::xml_node find_node(const pugi::xml_node& root, std::string_view path) {
  if (path.starts_with("//")) return descendant(root, path.substr(2));
  pugi::xml_node node = root;
  while (!path.empty() && node) {
    const std::size_t slash = path.find('/');
    node = child(node, path.substr(0, slash));
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  }
  return node;
}

}  // namespace

struct Xml::Document {
  pugi::xml_document tree;
};

Xml::Xml(std::string_view text, Location where) : document_(std::make_unique<Document>()), where_(std::move(where)) {
  text = text.substr(0, text.find_last_not_of('\0') + 1);
  const pugi::xml_parse_result result = document_->tree.load_buffer(text.data(), text.size());
  if (result && document_->tree.document_element()) return;
  if (where_.byte >= 0) where_.byte += result.offset;
  throw Error(ErrorCode::file, fmt::format("this XML cannot be read: {}", result.description()), where_);
}

Xml::Xml(Xml&&) noexcept = default;
Xml& Xml::operator=(Xml&&) noexcept = default;
Xml::~Xml() = default;

std::optional<std::string> Xml::find(std::string_view path) const {
  const pugi::xml_node node = find_node(document_->tree, path);
  if (!node) return std::nullopt;
  return trimmed(node.child_value());
}

std::vector<std::pair<std::string, std::string>> Xml::children(std::string_view path) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const pugi::xml_node& node : find_node(document_->tree, path).children()) {
    if (node.type() == pugi::node_element) out.emplace_back(local_name(node.name()), trimmed(node.child_value()));
  }
  return out;
}

std::string Xml::text(std::string_view path) const {
  const std::optional<std::string> found = find(path);
  if (!found || found->empty())
    throw Error(ErrorCode::file, fmt::format("the element <{}> is {} in this XML", path, found ? "empty" : "missing"),
                where_);
  return *found;
}

std::int64_t Xml::integer(std::string_view path, std::int64_t minimum) const {
  const std::string word = text(path);
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (status != std::errc{} || end != word.data() + word.size() || value < minimum)
    throw Error(ErrorCode::file,
                fmt::format("<{}> is '{}'; it should be a whole number of at least {}", path, word, minimum), where_);
  return value;
}

std::uint32_t Xml::hexadecimal(std::string_view path) const {
  const std::string word = text(path);
  const std::size_t skip = word.starts_with("0x") || word.starts_with("0X") ? 2 : 0;
  std::uint32_t value = 0;
  const auto [end, status] = std::from_chars(word.data() + skip, word.data() + word.size(), value, 16);
  if (status != std::errc{} || end != word.data() + word.size())
    throw Error(ErrorCode::file, fmt::format("<{}> is '{}'; it should be a 32-bit hexadecimal number", path, word),
                where_);
  return value;
}

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

}  // namespace quadrille
