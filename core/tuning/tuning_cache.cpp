#include "core/tuning/tuning_cache.h"

#include "core/error.h"
#include "core/system/atomic_file.h"
#include "core/system/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <tuple>
#include <utility>

namespace quadrille {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* format_name = "quadrille-tuning";
constexpr int format_version = 1;

Json json_of(const TuningKey& key, const TuningEntry& entry) {
  return {{"device", key.device},
          {"build", key.build},
          {"problem", key.problem},
          {"chosen", entry.chosen},
          {"microseconds", std::round(entry.microseconds * 1e3) / 1e3},
          {"candidates", entry.candidates},
          {"when", entry.when}};
}

/// Throws a std::exception that says what is wrong.
std::pair<TuningKey, TuningEntry> entry_of(const Json& json) {
  std::pair<TuningKey, TuningEntry> made;
  auto& [key, entry] = made;
  json.at("device").get_to(key.device);
  json.at("build").get_to(key.build);
  json.at("problem").get_to(key.problem);
  json.at("chosen").get_to(entry.chosen);
  json.at("microseconds").get_to(entry.microseconds);
  json.at("candidates").get_to(entry.candidates);
  json.at("when").get_to(entry.when);
  if (std::find(entry.candidates.begin(), entry.candidates.end(), entry.chosen) == entry.candidates.end()) {
    throw Error(ErrorCode::file, fmt::format("'{}' is not one of its candidates", entry.chosen));
  }
  return made;
}

/// One line an entry, to be read and searched by people. Bytes that are not UTF-8 are replaced, never an error.
std::string text_of(const std::map<TuningKey, TuningEntry>& entries) {
  std::string text = fmt::format("{{\"format\": \"{}\", \"version\": {}, \"entries\": [", format_name, format_version);
  const char* separator = "\n ";
  for (const auto& [key, entry] : entries) {
    text += separator + json_of(key, entry).dump(-1, ' ', false, Json::error_handler_t::replace);
    separator = ",\n ";
  }
  return text + "\n]}\n";
}

}  // namespace

TuningCache::TuningCache(std::string file) : file_(std::move(file)) {}

TuningCache::Reading TuningCache::parse(const std::string& text) {
  Reading reading;
  if (text.empty()) {
    reading.trouble = "it is empty";
    return reading;
  }
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return {.trouble = "it is not JSON", .foreign = true};
  if (!json.is_object() || json.value("format", Json()) != format_name) {
    return {.trouble = fmt::format("it has no \"format\": \"{}\"", format_name), .foreign = true};
  }
  const Json version = json.value("version", Json());
  if (version != format_version) {
    reading.trouble = fmt::format("its format version is {}, not {}", version.dump(), format_version);
    return reading;
  }
  const Json entries = json.value("entries", Json());
  if (!entries.is_array()) {
    reading.trouble = "its entries are not a list";
    return reading;
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    try {
      auto [key, entry] = entry_of(entries[i]);
      reading.entries.insert_or_assign(std::move(key), std::move(entry));
    } catch (const std::exception& error) {
      if (reading.trouble.empty()) reading.trouble = fmt::format("entry {} is damaged: {}", i + 1, error.what());
    }
  }
  return reading;
}

TuningCache::Reading TuningCache::read(const std::string& file) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found) return {};
  const auto fail = [](const std::string& reason) { return Reading{.trouble = reason, .foreign = true}; };
  if (status.type() == fs::file_type::none) return fail("it cannot be read: " + error.message());
  if (!fs::is_regular_file(status)) return fail("it is not a regular file");  // reading a pipe could wait for ever
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  if (!stream) return fail(fmt::format("it cannot be read: {}", std::strerror(errno)));
  const std::streamoff bytes = stream.tellg();  // of the open file: another may take its name at any moment
  if (bytes > std::streamoff(most_bytes)) return fail(fmt::format("it is larger than {} MiB", most_bytes >> 20));
  std::string text(std::size_t(std::max<std::streamoff>(bytes, 0)), '\0');
  stream.seekg(0);
  if (!stream.read(text.data(), std::streamsize(text.size()))) return fail("it cannot be read to the end");
  return parse(text);
}

void TuningCache::notice(bool& said, const std::string& text) const {
  log().log(said ? spdlog::level::debug : spdlog::level::warn, "tuning cache {}", text);
  said = true;
}

TuningCache::Reading TuningCache::read_with_notice() {
  Reading reading;
  try {
    reading = read(file_);
  } catch (const std::exception& error) {  // such as no memory for it
    reading = {.trouble = error.what(), .foreign = true};
  }
  if (!reading.trouble.empty()) {
    const char* loss = reading.entries.empty() ? "it is not used" : "the other entries are used";
    notice(said_reading_, fmt::format("{}: {}; {}", file_, reading.trouble, loss));
  }
  return reading;
}

/// Called where the file has nothing for `key` and its candidates.
void TuningCache::say_outdated(const TuningKey& key) {
  if (said_outdated_) return;
  const char* reason = entries_.contains(key) ? "other lists of candidates" : nullptr;
  for (const auto& [other, entry] : entries_) {
    if (other.device == key.device && other.problem == key.problem && other.build != key.build) reason = "other builds";
  }
  if (reason == nullptr) return;
  log().info("tuning cache {}: its choices for {} are not used; the fastest candidates are measured again", file_,
             reason);
  said_outdated_ = true;
}

const TuningEntry* TuningCache::find(const TuningKey& key, const std::vector<std::string>& candidates) {
  if (!loaded_ && !file_.empty()) entries_ = read_with_notice().entries;
  loaded_ = true;
  const auto found = entries_.find(key);
  if (found != entries_.end() && found->second.candidates == candidates) return &found->second;
  say_outdated(key);
  return nullptr;
}

void TuningCache::drop_oldest(Entries& entries, const TuningKey& newest) {
  if (entries.size() <= most_entries) return;
  std::vector<Entries::const_iterator> order;
  for (auto i = entries.cbegin(); i != entries.cend(); ++i) {
    if (i->first != newest) order.push_back(i);
  }
  const auto rank = [&newest](Entries::const_iterator i) {
    const bool outdated = i->first.device == newest.device && i->first.build != newest.build;
    return std::tuple<bool, const std::string&>(!outdated, i->second.when);
  };
  std::sort(order.begin(), order.end(), [&rank](auto a, auto b) { return rank(a) < rank(b); });
  order.resize(entries.size() - most_entries);
  for (const Entries::const_iterator i : order) entries.erase(i);
}

void TuningCache::write(const std::string& file, const Entries& entries, bool keep_old) {
  std::error_code error;
  const fs::path folder = fs::path(file).parent_path();
  if (!folder.empty()) fs::create_directories(folder);
  if (fs::exists(file, error) && !fs::is_regular_file(file, error)) {
    throw Error(ErrorCode::file, "it is not a regular file; QUADRILLE_TUNING_FILE may name another", {.file = file});
  }
  // A link, not a new name: another process may have put a good file there since, and the old name then exists.
  if (keep_old) {
    const fs::path target = fs::canonical(file);
    const std::string old = target.string() + ".old";
    fs::create_hard_link(target, old, error);
    if (error) {
      throw Error(ErrorCode::file,
                  fmt::format("it was not written by Quadrille and cannot be saved as {} ({}), so it is not "
                              "overwritten; remove one of them or name another in QUADRILLE_TUNING_FILE",
                              old, error.message()),
                  {.file = file});
    }
  }
  write_file(file, text_of(entries));
}

void TuningCache::keep(const TuningKey& key, TuningEntry entry) {
  if (file_.empty()) return;
  try {
    entry.when = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
    kept_.insert_or_assign(key, std::move(entry));
    Reading reading = read_with_notice();
    entries_ = std::move(reading.entries);
    for (const auto& [mine, value] : kept_) entries_.insert_or_assign(mine, value);
    drop_oldest(entries_, key);
    write(file_, entries_, reading.foreign);
  } catch (const std::exception& error) {
    notice(said_writing_, fmt::format("is not written, so every process measures the kernels again: {}", error.what()));
  }
}

}  // namespace quadrille
