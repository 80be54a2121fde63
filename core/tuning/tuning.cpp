#include "core/tuning/tuning.h"

#include "core/error.h"
#include "core/system/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <limits>
#include <string_view>
#include <utility>

namespace quadrille {
namespace {

/// Empty when it is not set.
std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string cache_file() {
  namespace fs = std::filesystem;
  const std::string given = variable("QUADRILLE_TUNING_FILE");
  if (!given.empty()) return given;
  const fs::path name = fs::path("quadrille") / "tuning.json";
  const fs::path cache =
      variable("XDG_CACHE_HOME");  // a relative one is to be ignored (XDG Base Directory Specification)
  if (cache.is_absolute()) return cache / name;
  const fs::path home = variable("HOME");
  return home.is_absolute() ? (home / ".cache" / name).string() : "";
}

struct Trial {
  double least = std::numeric_limits<double>::infinity();  ///< seconds
  bool dropped = false;
  bool threw = false;
};

struct Winner {
  int index;
  double seconds;  ///< infinity when it could not be timed
};

/// One run of a candidate, that adds to its trial when it is more than a warm-up.
void run(Trial& trial, int index, const std::string& name, const std::function<double(int)>& measure, bool warm_up,
         std::exception_ptr& first_error) {
  const auto drop = [&](const std::string& reason) {
    trial.dropped = true;
    log().debug("tuning: candidate {} dropped: {}", name, reason);
  };
  const auto threw = [&](const std::string& reason) {  // called while the exception is handled
    if (!first_error) first_error = std::current_exception();
    trial.threw = true;
    drop(reason);
  };
  try {
    const double seconds = measure(index);
    if (!std::isfinite(seconds) || seconds < 0) return drop(fmt::format("its time is {} s", seconds));
    if (!warm_up) trial.least = std::min(trial.least, seconds);
  } catch (const std::exception& error) {
    threw(error.what());
  } catch (...) {
    threw("an exception of unknown type");
  }
}

/// Of those that are not dropped; end() when all are.
std::vector<Trial>::const_iterator best_of(const std::vector<Trial>& trials) {
  auto best = trials.end();
  for (auto trial = trials.begin(); trial != trials.end(); ++trial) {
    if (!trial->dropped && (best == trials.end() || trial->least < best->least)) best = trial;
  }
  return best;
}

Winner fastest(const std::vector<std::string>& candidates, const std::function<double(int)>& measure) {
  std::vector<Trial> trials(candidates.size());
  std::exception_ptr first_error;
  for (int round = 0; round < Tuner::timings; ++round) {
    const auto best = best_of(trials);
    const double limit = best == trials.end() ? 0 : Tuner::hopeless * best->least;
    for (std::size_t i = 0; i < trials.size(); ++i) {
      Trial& trial = trials[i];
      if (round == 0) run(trial, int(i), candidates[i], measure, true, first_error);
      if (trial.dropped || trial.least > limit || (round > 0 && trial.least > Tuner::long_run)) continue;
      run(trial, int(i), candidates[i], measure, false, first_error);
    }
  }
  for (std::size_t i = 0; i < trials.size(); ++i) {
    log().trace("tuning: candidate {}: {:.3f} us", candidates[i], trials[i].least * 1e6);
  }
  auto winner = best_of(trials);
  if (winner == trials.end()) {
    winner = std::find_if(trials.begin(), trials.end(), [](const Trial& trial) { return !trial.threw; });
    if (winner == trials.end()) std::rethrow_exception(first_error);
    return {int(winner - trials.begin()), std::numeric_limits<double>::infinity()};
  }
  return {int(winner - trials.begin()), winner->least};
}

}  // namespace

TuningSettings tuning_settings() {
  using Mode = TuningSettings::Mode;
  const std::string given = variable("QUADRILLE_TUNING");
  if (given.empty() || given == "on") return {.mode = Mode::On, .file = cache_file()};
  if (given == "off") return {.mode = Mode::Off};
  constexpr std::string_view force = "force:";
  if (given.starts_with(force)) {
    TuningSettings settings{.mode = Mode::Force};
    const char* end = given.data() + given.size();
    const auto [stop, trouble] = std::from_chars(given.data() + force.size(), end, settings.forced);
    if (trouble == std::errc() && stop == end) return settings;
  }
  throw Error(ErrorCode::invalid_input, fmt::format("QUADRILLE_TUNING: unknown value '{}'; it may be on, off or "
                                                    "force:N, where N is the number of a candidate, from 0",
                                                    given));
}

Tuner::Tuner(TuningSettings settings) : settings_(std::move(settings)), cache_(settings_.file) {}

/// From memory or the cache file; the mutex is held.
std::optional<int> Tuner::remembered(const TuningKey& key, const std::vector<std::string>& candidates) {
  const auto found = choices_.find(key);
  if (found != choices_.end() && found->second.candidates == candidates) return found->second.index;
  const TuningEntry* kept = cache_.find(key, candidates);
  if (kept == nullptr) return std::nullopt;
  const int index = int(std::find(candidates.begin(), candidates.end(), kept->chosen) - candidates.begin());
  choices_.insert_or_assign(key, Choice{candidates, index});
  return index;
}

std::optional<int> Tuner::known(const TuningKey& key, const std::vector<std::string>& candidates) {
  if (settings_.mode == TuningSettings::Mode::Force) return int(settings_.forced % candidates.size());
  if (settings_.mode == TuningSettings::Mode::Off || candidates.size() == 1) return 0;
  const std::lock_guard lock(mutex_);
  return remembered(key, candidates);
}

int Tuner::choose(const TuningKey& key, const std::vector<std::string>& candidates,
                  const std::function<double(int)>& measure) {
  if (candidates.empty()) throw Error(ErrorCode::internal, fmt::format("tuning: '{}' has no candidates", key.problem));
  if (const auto index = known(key, candidates)) return *index;
  {
    const std::lock_guard lock(mutex_);
    if (const auto index = remembered(key, candidates)) return *index;  // another thread's meanwhile
    choices_.insert_or_assign(key, Choice{candidates, 0});              // for whoever asks while it is measured
  }
  Winner winner;
  try {
    winner = fastest(candidates, measure);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    choices_.erase(key);
    throw;
  }
  const std::string& name = candidates[std::size_t(winner.index)];
  log().debug("tuning: {}: {} of {} candidates, {:.3f} us", key.problem, name, candidates.size(), winner.seconds * 1e6);
  const std::lock_guard lock(mutex_);
  choices_.insert_or_assign(key, Choice{candidates, winner.index});
  if (std::isfinite(winner.seconds)) cache_.keep(key, {name, winner.seconds * 1e6, candidates, {}});
  return winner.index;
}

Tuner& tuner() {
  static Tuner instance;
  return instance;
}

}  // namespace quadrille
