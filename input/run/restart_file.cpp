#include "input/run/restart_file.h"

#include "core/error.h"
#include "core/system/atomic_file.h"
#include "input/files/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t small = 256u << 10;  ///< bytes that cost less to write than the disk's answer

bool is_flat(const Json& list) {
  return std::none_of(list.begin(), list.end(), [](const Json& item) { return item.is_structured(); });
}

void add_pretty(std::string& out, const Json& value, const std::string& indent) {
  if (!value.is_structured() || value.empty() || (value.is_array() && is_flat(value))) {
    out += value.dump();
    return;
  }
  const bool object = value.is_object();
  const std::string inside = indent + " ";
  const char* separator = "\n";
  out += object ? '{' : '[';
  for (const auto& [key, item] : value.items()) {
    out += separator + inside;
    if (object) out += Json(key).dump() + ": ";
    add_pretty(out, item, inside);
    separator = ",\n";
  }
  out += "\n" + indent + (object ? '}' : ']');
}

/// False for what is no change.
bool merge_into(Json& state, const Json& change) {
  if (!change.is_object()) return false;
  for (const auto& [key, entries] : change.items()) {
    Json& target = state[key];
    if (!entries.is_object() || !(target.is_object() || target.is_null())) return false;
    for (const auto& [name, value] : entries.items()) {
      if (value.is_null() && target.is_object()) {
        target.erase(name);
      } else {
        target[name] = value;
      }
    }
  }
  return true;
}

}  // namespace

std::string pretty(const Json& value) {
  std::string out;
  add_pretty(out, value, "");
  return out + "\n";
}

bool RestartFile::exists() const {
  struct stat status {};
  if (::lstat(path_.c_str(), &status) != 0) return false;
  if (S_ISREG(status.st_mode)) return true;
  throw Error(ErrorCode::file,
              fmt::format("{}: move it away, or choose another --out",
                          S_ISLNK(status.st_mode) ? "this is a symbolic link" : "this is not a regular file"),
              {.file = path_.string()});
}

Json RestartFile::read() const {
  const InputFile file(path_.string());
  std::string text(file.size(), '\0');
  file.read(0, text.data(), text.size());
  std::istringstream stream(text);
  Json state;
  try {
    stream >> state;  // the first value alone
  } catch (const Json::exception&) {
    return nullptr;
  }
  if (!state.is_object()) return nullptr;
  stream >> std::ws;
  for (std::string line; std::getline(stream, line) && !stream.eof();) {  // one without its end was cut off
    if (!merge_into(state, Json::parse(line, nullptr, false))) return nullptr;
  }
  return state;
}

void RestartFile::write(const Json& state) {
  const std::string text = pretty(state);
  write_file(path_.string(), text);
  written_ = text.size();
  appended_ = 0;
}

void RestartFile::change(const Json& change, const std::function<Json()>& state) {
  const std::string line = change.dump() + "\n";
  if (written_ <= small || appended_ + line.size() > written_) return write(state());
  append(line);
  appended_ += line.size();
}

void RestartFile::append(const std::string& line) {
  const int file = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  const auto fail = [&] {
    throw Error(ErrorCode::file, fmt::format("writing failed: {}", std::strerror(errno)), {.file = path_.string()});
  };
  if (file < 0) fail();
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(file, line.data() + done, line.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) break;
    done += std::size_t(count);
  }
  if (done == line.size() && ::fsync(file) == 0) {
    ::close(file);
    return;
  }
  const int reason = errno;
  (void)!::ftruncate(file, off_t(written_ + appended_));
  ::close(file);
  errno = reason;
  fail();
}

}  // namespace quadrille
