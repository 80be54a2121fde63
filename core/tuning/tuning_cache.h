// The tuner's memory on disk: one JSON file for all devices, builds and problems of a user.
//
//   {"format": "quadrille-tuning", "version": 1, "entries": [
//    {"device": ..., "build": ..., "problem": ..., "chosen": NAME, "microseconds": 12.3, "candidates": [NAME, ...],
//     "when": "2026-01-31T12:00:00Z"},
//    ...
//   ]}
#pragma once

#include <compare>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace quadrille {

/// One problem: what is launched on what. All of it is the key of an entry.
struct TuningKey {
  std::string device;   ///< "NVIDIA H200, sm_90"
  std::string build;    ///< the version and what tells this build's kernels from another's
  std::string problem;  ///< "wilson_half_12 32x32x32x64 xpay"

  auto operator<=>(const TuningKey&) const = default;
};

struct TuningEntry {
  std::string chosen;  ///< one of `candidates`
  double microseconds = 0;
  std::vector<std::string> candidates;
  std::string when;  ///< UTC, in ISO 8601, so that the order of the text is that of time
};

/// Not thread safe; its owner locks. Any number of processes may share the file: it is replaced whole, and what two of
/// them add at the same moment may last from one only.
class TuningCache {
 public:
  static constexpr std::size_t most_entries = 4096;
  static constexpr std::size_t most_bytes = std::size_t(1) << 24;  ///< a larger file is not read

  /// `file` is read at the first use. An empty name keeps nothing.
  explicit TuningCache(std::string file);

  /// The entry made for this list of candidates, null when there is none. Valid until the next keep(). A file that is
  /// not there is empty; one that cannot be used (unreadable, not JSON, of another format or version) is a warning and
  /// empty too; damaged entries are left out with a warning. One warning about reading a process, naming file and
  /// reason. That the file's choice for this problem was made by another build or for other candidates, and is not
  /// used, is said once, at the level info.
  const TuningEntry* find(const TuningKey& key, const std::vector<std::string>& candidates);

  /// Adds the entry, with `when` set to now, and writes the file: what is on disk at this moment with all entries that
  /// this process kept. Beyond `most_entries` the oldest go, first those of other builds for the entry's device. Makes
  /// the file's folder. A file of unknown content is first linked as `<file>.old`, and left alone when there is one
  /// already; what is not a regular file is left alone. Never throws: a file that cannot be written is a warning, once.
  void keep(const TuningKey& key, TuningEntry entry);

 private:
  using Entries = std::map<TuningKey, TuningEntry>;
  struct Reading {
    Entries entries{};
    std::string trouble{};  ///< why it, or some of it, is not used
    bool foreign = false;   ///< its content may be someone else's
  };
  static Reading read(const std::string& file);
  static Reading parse(const std::string& text);
  static void write(const std::string& file, const Entries& entries, bool keep_old);
  static void drop_oldest(Entries& entries, const TuningKey& newest);
  Reading read_with_notice();
  void notice(bool& said, const std::string& text) const;
  void say_outdated(const TuningKey& key);

  std::string file_;
  bool loaded_ = false;
  bool said_reading_ = false, said_writing_ = false, said_outdated_ = false;
  Entries entries_;  ///< of the file as last read or written
  Entries kept_;     ///< by this process
};

}  // namespace quadrille
