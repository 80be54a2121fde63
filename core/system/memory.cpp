#include "core/system/memory.h"

#include "core/error.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <limits>
#include <optional>
#include <utility>

namespace quadrille {

namespace {

/// The number behind the word `key`.
std::optional<double> number_after(const char* file, const std::string& key) {
  std::ifstream stream(file);
  std::string word;
  while (stream >> word) {
    double number = 0;
    if (word == key && stream >> number) return number;
  }
  return std::nullopt;
}

std::optional<double> number_in(const std::string& file) {
  std::ifstream stream(file);
  double number = 0;
  if (stream >> number) return number;
  return std::nullopt;  // no such file, or "max"
}

/// Of the control group, version 2 or 1, as it looks from inside a container. Files that are cached count as used
/// there, but give way.
void limit_by_group(Memory& memory) {
  struct Group {
    const char *limit, *usage, *details, *cached;
  };
  constexpr Group groups[] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes",
       "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"}};
  for (const Group& group : groups) {
    const auto most = number_in(group.limit), used = number_in(group.usage);
    if (!most || *most >= memory.total) continue;
    memory.total = *most;
    if (!used) continue;
    const double cached = number_after(group.details, group.cached).value_or(0);
    memory.free = std::min(memory.free, std::max(*most - *used + cached, 0.0));
  }
}

void limit_by_resource(Memory& memory) {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return;
  const double most = double(limit.rlim_cur);
  memory.total = std::min(memory.total, most);
  const double used = 1024 * number_after("/proc/self/status", "VmSize:").value_or(0);
  memory.free = std::min(memory.free, std::max(most - used, 0.0));
}

}  // namespace

Memory memory_here() {
  constexpr double no_limit = std::numeric_limits<double>::infinity();
  Memory memory{1024 * number_after("/proc/meminfo", "MemTotal:").value_or(no_limit),
                1024 * number_after("/proc/meminfo", "MemAvailable:").value_or(no_limit)};
  limit_by_group(memory);
  limit_by_resource(memory);
  return memory;
}

std::string bytes_text(double bytes) {
  constexpr std::array<const char*, 7> units = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < units.size(); ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, bytes < 10 && unit > 0 ? 1 : 0, units[unit]);
}

NotEnoughMemory::NotEnoughMemory(std::string message) : Error(ErrorCode::unsupported, std::move(message)) {}

std::string no_memory_text() { return fmt::format("not enough memory: {} are free", bytes_text(memory_here().free)); }

void require_memory(double bytes, const std::string& what) {
  constexpr double small = 1 << 26;  // not worth a look
  if (bytes < small) return;
  const double free = memory_here().free;
  if (bytes <= free) return;
  throw NotEnoughMemory(
      fmt::format("not enough memory: {} needs {}, {} are free", what, bytes_text(bytes), bytes_text(free)));
}

}  // namespace quadrille
