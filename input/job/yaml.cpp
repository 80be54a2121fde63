#include "input/job/yaml.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

namespace quadrille {

namespace {

constexpr std::size_t deepest = 32;
constexpr std::size_t most_values = 100000;
constexpr std::uintmax_t most_bytes = 16u << 20;

std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  if (const auto* list = std::get_if<Value::List>(&value.data)) {
    for (const Value& item : *list) count += count_values(item);
  }
  if (const auto* map = std::get_if<Value::Map>(&value.data)) {
    for (const auto& entry : *map) count += count_values(entry.value);
  }
  return count;
}

/// Builds the tree from the parser's events. yaml-cpp's own loader hides duplicate keys, so it is not used.
class TreeBuilder : public YAML::EventHandler {
 public:
  TreeBuilder(std::string name, bool lines) : name_(std::move(name)), lines_(lines) {}

  Location place(const YAML::Mark& mark) const {
    Location where{name_, 0, 0, {}, -1};
    if (lines_ && !mark.is_null()) {
      where.line = mark.line + 1;
      where.column = mark.column + 1;
    }
    return where;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ > 0) fail("a second document starts here; give one document", place(mark));
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override { add(Value{{}, place(mark)}, anchor); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) fail("this alias is inside the value that it refers to", place(mark));
    // The copy keeps the places of the original: that is where a mistake in it is mended.
    Value copy = known->second;
    values_ += count_values(copy);
    if (depth(copy) + stack_.size() > deepest) too_deep(place(mark));
    add(std::move(copy), 0, place(mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    static const std::string core_schema = "tag:yaml.org,2002:";
    bool quoted = tag == "!";
    if (tag.compare(0, core_schema.size(), core_schema) == 0) {
      quoted = tag == core_schema + "str";
    } else if (tag != "!" && tag != "?" && !tag.empty()) {
      fail(fmt::format("unknown tag '{}'; remove it: a job needs no tags", tag), place(mark));
    }
    add(Value{Value::Scalar{text, quoted}, place(mark)}, anchor);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(Value{Value::List{}, place(mark)}, anchor);
  }
  void OnSequenceEnd() override { close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(Value{Value::Map{}, place(mark)}, anchor);
  }
  void OnMapEnd() override { close(); }

  int documents() const { return documents_; }
  std::optional<Value>& root() { return root_; }

 private:
  struct Frame {
    Value value;
    YAML::anchor_t anchor;
    std::optional<Value> key;  ///< of a map, while its value is awaited
  };

  [[noreturn]] static void fail(std::string message, const Location& where) {
    throw Error(ErrorCode::invalid_input, std::move(message), where);
  }
  [[noreturn]] static void too_deep(const Location& where) {
    fail(fmt::format("values are nested deeper than {} levels", deepest), where);
  }

  static std::size_t depth(const Value& value) {
    std::size_t deepest_child = 0;
    if (const auto* list = std::get_if<Value::List>(&value.data)) {
      for (const Value& item : *list) deepest_child = std::max(deepest_child, depth(item));
    }
    if (const auto* map = std::get_if<Value::Map>(&value.data)) {
      for (const auto& entry : *map) deepest_child = std::max(deepest_child, depth(entry.value));
    }
    return deepest_child + 1;
  }

  void open(Value value, YAML::anchor_t anchor) {
    if (stack_.size() >= deepest) too_deep(value.where);
    stack_.push_back({std::move(value), anchor, {}});
  }

  void close() {
    Frame done = std::move(stack_.back());
    stack_.pop_back();
    add(std::move(done.value), done.anchor);
  }

  void add(Value value, YAML::anchor_t anchor, const Location& use = {}) {
    const Location where = use.known() ? use : value.where;
    if (++values_ > most_values) fail(fmt::format("more than {} values", most_values), where);
    if (anchor != 0) anchors_[anchor] = value;
    if (stack_.empty()) {
      root_ = std::move(value);
      return;
    }
    Frame& top = stack_.back();
    if (auto* list = std::get_if<Value::List>(&top.value.data)) {
      list->push_back(std::move(value));
    } else if (!top.key) {
      check_key(std::get<Value::Map>(top.value.data), value, where);
      top.key = std::move(value);
      top.key->where = where;
    } else {
      auto& key = std::get<Value::Scalar>(top.key->data);
      // yaml-cpp places a value that is not written at whatever follows; its key is where to look.
      if (std::holds_alternative<std::monostate>(value.data)) {
        value.where = top.key->where;
        check_colon(key, value.where);
      }
      std::get<Value::Map>(top.value.data).push_back({std::move(key.text), top.key->where, std::move(value)});
      top.key.reset();
    }
  }

  /// {b:10} has a key 'b:10' without a value.
  static void check_colon(const Value::Scalar& key, const Location& where) {
    const std::size_t colon = key.text.find(':');
    if (key.quoted || colon == std::string::npos || colon == 0 || colon + 1 == key.text.size()) return;
    fail(fmt::format("a space is missing after the colon in '{}': write '{}: {}'", key.text, key.text.substr(0, colon),
                     key.text.substr(colon + 1)),
         where);
  }

  void check_key(const Value::Map& map, const Value& value, const Location& where) const {
    const auto* key = std::get_if<Value::Scalar>(&value.data);
    if (!key) fail("a key must be a plain word", where);
    if (key->text == "<<" && !key->quoted) fail("merge keys (<<) are not supported; write the keys out", where);
    for (const auto& entry : map) {
      if (entry.key != key->text) continue;
      const std::string first = entry.where.line > 0
                                    ? fmt::format(" (first on line {}, again on line {})", entry.where.line, where.line)
                                    : std::string();
      fail(fmt::format("key '{}' is given twice{}; keep one", key->text, first), where);
    }
  }

  std::string name_;
  bool lines_;
  int documents_ = 0;
  std::size_t values_ = 0;
  std::vector<Frame> stack_;
  std::map<YAML::anchor_t, Value> anchors_;
  std::optional<Value> root_;
};

/// yaml-cpp takes invalid UTF-8 for U+FFFD; a message about the byte helps more.
void check_utf8(const std::string& text, const Location& file) {
  const auto fail = [&](int line, const char* what) {
    throw Error(ErrorCode::invalid_input, fmt::format("{}; a job is text in UTF-8", what),
                Location{file.file, line, 0, {}, -1});
  };
  int line = 1;
  for (std::size_t k = 0; k < text.size();) {
    const auto byte = static_cast<unsigned char>(text[k]);
    line += byte == '\n';
    if (byte == 0) fail(line, "a NUL byte");
    const std::size_t length = byte < 0x80                   ? 1
                               : byte >= 0xf0 && byte < 0xf8 ? 4
                               : byte >= 0xe0 && byte < 0xf0 ? 3
                               : byte >= 0xc2 && byte < 0xe0 ? 2
                                                             : 0;
    if (length == 0 || k + length > text.size()) fail(line, "a byte that is not UTF-8");
    for (std::size_t j = 1; j < length; ++j) {
      if ((static_cast<unsigned char>(text[k + j]) & 0xc0) != 0x80) fail(line, "a byte that is not UTF-8");
    }
    k += length;
  }
}

/// Whether line number `line`, from 0, has a tab before its first word.
bool tab_indents(const std::string& text, int line) {
  std::size_t at = 0;
  for (; line > 0 && at < text.size(); --line) at = std::min(text.find('\n', at), text.size() - 1) + 1;
  for (; at < text.size() && (text[at] == ' ' || text[at] == '\t'); ++at) {
    if (text[at] == '\t') return true;
  }
  return false;
}

/// What yaml-cpp finds, in the words of who writes a job. It takes a tab in the indentation for one only sometimes.
std::string what_is_wrong(const YAML::Exception& found, const std::string& text) {
  if (found.msg == YAML::ErrorMsg::EOF_IN_SCALAR) return "a quote is not closed";
  if (found.msg == YAML::ErrorMsg::TAB_IN_INDENTATION || tab_indents(text, found.mark.line)) {
    return "a tab indents this line; use spaces";
  }
  return found.msg;
}

}  // namespace

Value read_yaml_text(const std::string& text, const std::string& name, bool lines) {
  const Location file{name, 0, 0, {}, -1};
  check_utf8(text, file);
  // yaml-cpp closes a quote by itself when the file ends with a line's end; behind a comment it does not.
  std::istringstream stream(text + "\n#");
  TreeBuilder builder(name, lines);
  try {
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (builder.documents() > 0) parser.HandleNextDocument(builder);
  } catch (const YAML::Exception& problem) {
    throw Error(ErrorCode::invalid_input, "not valid YAML: " + what_is_wrong(problem, text),
                builder.place(problem.mark));
  }
  auto& root = builder.root();
  if (!root) throw Error(ErrorCode::invalid_input, lines ? "the file is empty" : "there is no value", file);
  return std::move(*root);
}

std::string made_by(const Location& value) {
  static const std::string mark = "# made by: ";
  std::ifstream stream(value.file);
  std::string line;
  for (int number = 0; number < value.line; ++number) {
    if (!std::getline(stream, line)) return {};
  }
  const std::size_t at = line.find(mark);
  if (at == std::string::npos) return {};
  line.erase(0, at + mark.size());
  return line.substr(0, line.find(';'));
}

Value read_yaml_file(const std::string& path) {
  const Location file{path, 0, 0, {}, -1};
  const auto fail = [&](const std::string& message) { throw Error(ErrorCode::file, message, file); };
  std::error_code code;
  const auto status = std::filesystem::status(path, code);
  if (!std::filesystem::exists(status)) fail("no such file");
  if (std::filesystem::is_directory(status)) fail("is a folder; give a job file");
  // A pipe of that name could wait for a writer for ever; those that are open already have one.
  const bool open_already = path == "/dev/stdin" || path.starts_with("/dev/fd/") || path.starts_with("/proc/self/fd/");
  if (!std::filesystem::is_regular_file(status) && !open_already) {
    fail("is not a regular file; give a job file, or /dev/stdin");
  }
  std::ifstream stream(path, std::ios::binary);
  if (!stream) fail(fmt::format("cannot be opened: {}", std::strerror(errno)));
  std::string text;
  std::vector<char> buffer(1 << 16);
  while (stream.read(buffer.data(), std::streamsize(buffer.size())) || stream.gcount() > 0) {
    text.append(buffer.data(), std::size_t(stream.gcount()));
    if (text.size() > most_bytes) fail(fmt::format("more than {} MB; a job file is small", most_bytes >> 20));
  }
  if (stream.bad()) fail("reading failed");
  return read_yaml_text(text, path);
}

}  // namespace quadrille
