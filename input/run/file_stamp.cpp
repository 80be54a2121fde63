#include "input/run/file_stamp.h"

#include "core/error.h"
#include "input/files/checksum.h"
#include "input/files/input_file.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <vector>

namespace quadrille {

namespace {

constexpr std::size_t site = 64u << 10, piece = 1024 * site;  ///< bytes; a piece is read at once

std::string change_of(const struct stat& status) {
  return fmt::format("{}.{:09}", status.st_ctim.tv_sec, status.st_ctim.tv_nsec);
}

std::string checksum_of(const std::filesystem::path& path) {
  const InputFile file(path.string());
  Checksum sum;
  std::vector<char> bytes(std::size_t(std::min<std::uint64_t>(file.size(), piece)));
  for (std::uint64_t at = 0; at < file.size(); at += piece) {
    const auto count = std::size_t(std::min<std::uint64_t>(file.size() - at, piece));
    file.read(at, bytes.data(), count);
    const std::size_t sites = count / site, rest = count % site;
    const auto first = std::int64_t(at / site);
    sum.add(checksum_of_sites(bytes.data(), site, first, std::int64_t(sites)));
    if (rest > 0) sum.add_site(std::uint64_t(first) + sites, bytes.data() + sites * site, rest);
  }
  return to_string(sum);
}

}  // namespace

FileStamp stamp_of(const std::filesystem::path& file) {
  FileStamp stamp;
  stamp.checksum = checksum_of(file);
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) throw Error(ErrorCode::file, "is missing", {.file = file.string()});
  stamp.size = std::uint64_t(status.st_size);
  stamp.changed = change_of(status);
  return stamp;
}

std::string difference_from(const FileStamp& stamp, const std::filesystem::path& file, Depth depth) {
  struct stat status {};
  if (::stat(file.c_str(), &status) != 0) return "is missing";
  const std::string changed = "has changed since it was written";
  if (!S_ISREG(status.st_mode) || std::uint64_t(status.st_size) != stamp.size) return changed;
  if (depth == Depth::size || (stamp.size > piece && change_of(status) == stamp.changed)) return {};
  return checksum_of(file) == stamp.checksum ? std::string() : changed;
}

nlohmann::ordered_json to_json(const FileStamp& stamp) {
  return {{"size", stamp.size}, {"changed", stamp.changed}, {"checksum", stamp.checksum}};
}

std::optional<FileStamp> file_stamp_of(const nlohmann::ordered_json& json) {
  if (!json.is_object() || !json.contains("size") || !json["size"].is_number_unsigned()) return {};
  for (const char* key : {"changed", "checksum"}) {
    if (!json.contains(key) || !json[key].is_string()) return {};
  }
  return FileStamp{json["size"], json["changed"], json["checksum"]};
}

}  // namespace quadrille
