// Autotuning: which candidate runs (shape of a kernel's thread blocks and columns, algorithm of a library), measured
// once per machine. Candidates never differ in the bits of their results, so any choice is right; tuning decides speed
// alone, and nothing that goes wrong with it ends a run.
#pragma once

#include "core/api.h"
#include "core/tuning/tuning_cache.h"

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quadrille {

struct TuningSettings {
  enum class Mode {
    On,     ///< from memory, from the cache file, or measured
    Off,    ///< always candidate 0
    Force,  ///< always candidate `forced` modulo the number of candidates: for tests
  };
  Mode mode = Mode::On;
  std::size_t forced = 0;
  std::string file{};  ///< the cache file; empty: choices live as long as the process
};

/// What the environment says. QUADRILLE_TUNING is on (default), off or force:N; anything else is an
/// ErrorCode::invalid_input. QUADRILLE_TUNING_FILE is the cache file; by default quadrille/tuning.json in
/// $XDG_CACHE_HOME or else in $HOME/.cache, and none where neither is an absolute path.
QUADRILLE_API TuningSettings tuning_settings();

/// Thread safe; no lock is held while a candidate is measured.
class QUADRILLE_API Tuner {
 public:
  static constexpr int timings = 3;         ///< of a candidate at most, after one warm-up
  static constexpr double hopeless = 2;     ///< a candidate this many times slower than the best is not timed again
  static constexpr double long_run = 5e-3;  ///< seconds: what takes longer is timed once

  explicit Tuner(TuningSettings settings = tuning_settings());

  /// The index of the candidate to use: the environment's choice, that of this process' memory or of the cache file, or
  /// the fastest, measured now and kept in both. A repeated call measures nothing and allocates nothing; a choice made
  /// for another list of candidates does not count. A single candidate is never measured.
  ///
  /// `candidates`: their names, each of its own; the first is the one for runs without tuning. `measure(i)` runs
  /// candidate i (once or a few times, overwriting what it likes but the caller's data) and gives the seconds of one
  /// run. Each candidate is run once to warm up and then timed in up to `timings` rounds over all of them, so that a
  /// clock that is still rising favours none (longer than `long_run`: in one); its least time counts. One that throws,
  /// or whose time is negative or not finite, is dropped. Where no time is usable, the first candidate that did not
  /// throw is taken and not written.
  ///
  /// Another thread, or `measure` itself, that asks for the same key meanwhile gets candidate 0.
  ///
  /// Errors: when every candidate throws, the first exception, and the next call tries again; ErrorCode::internal
  /// without candidates. Trouble with the cache file is a warning, once.
  int choose(const TuningKey& key, const std::vector<std::string>& candidates,
             const std::function<double(int)>& measure);
  /// The choice where it needs no measurement: the environment's, or that of this process' memory or of the cache file.
  std::optional<int> known(const TuningKey& key, const std::vector<std::string>& candidates);

 private:
  struct Choice {
    std::vector<std::string> candidates;
    int index;
  };
  std::optional<int> remembered(const TuningKey& key, const std::vector<std::string>& candidates);

  const TuningSettings settings_;
  std::mutex mutex_;  ///< guards what follows
  TuningCache cache_;
  std::map<TuningKey, Choice> choices_;  ///< including those under way
};

/// The tuner of this process, with the environment's settings at its first use.
QUADRILLE_API Tuner& tuner();

}  // namespace quadrille
