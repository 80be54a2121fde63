// What a file was when it was written, to know it again.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace quadrille {

struct FileStamp {
  std::uint64_t size = 0;
  std::string changed;   ///< the system's time of its last change, which no program can set
  std::string checksum;  ///< the SciDAC checksum of pieces of 64 KiB as sites
};

/// Of a file that is there. Errors: those of InputFile.
FileStamp stamp_of(const std::filesystem::path& file);

enum class Depth { size, content };
/// "is missing" or "has changed since it was written"; empty for the file that the stamp was made of. The content of a
/// small file (64 MiB) is always read; that of a larger one only if the system says that it has changed.
std::string difference_from(const FileStamp& stamp, const std::filesystem::path& file, Depth depth);

nlohmann::ordered_json to_json(const FileStamp& stamp);
/// Nothing for what to_json() does not give.
std::optional<FileStamp> file_stamp_of(const nlohmann::ordered_json& json);

}  // namespace quadrille
