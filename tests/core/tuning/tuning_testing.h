// What the tests of the tuner share: fake measurements, and a folder for its file.
#pragma once

#include "core/tuning/tuning.h"

#include "core/system/log.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/ostream_sink.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::testing {
/// Sets or removes an environment variable for as long as it lives.
class Variable {
 public:
  Variable(const char* name, const std::optional<std::string>& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    set(value);
  }
  ~Variable() { set(before_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  void set(const std::optional<std::string>& value) const {
    if (value) {
      ::setenv(name_, value->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

/// Fake measurements: the times that each candidate gives one after the other (the last one for ever), NaN and negative
/// ones included; `throws` for an exception. Counts its calls.
constexpr double throws = 1e99;

using Times = std::vector<std::vector<double>>;

class Fake {
 public:
  explicit Fake(Times times) : times_(std::move(times)), calls_(times_.size()) {}
  std::function<double(int)> measure() {
    return [this](int candidate) {
      const std::vector<double>& times = times_.at(std::size_t(candidate));
      const std::size_t call = std::size_t(calls_.at(std::size_t(candidate))++);
      const double time = times[std::min(call, times.size() - 1)];
      if (time == throws) throw std::runtime_error(fmt::format("candidate {} needs too much", candidate));
      return time;
    };
  }
  const std::vector<int>& calls() const { return calls_; }

 private:
  Times times_;
  std::vector<int> calls_;
};

inline const TuningKey key{"device one", "build one", "wilson_half_12 8x8x8x16"};
inline const std::vector<std::string> three{"plain", "tile_4", "tile_8"};
inline const Times second_wins{{3e-6}, {2e-6}, {2.5e-6}};

class TuningTest : public ::testing::Test {
 protected:
  TuningTest() {
    std::string name = (std::filesystem::temp_directory_path() / "quadrille-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    sinks_ = log().sinks();
    log().sinks() = {std::make_shared<spdlog::sinks::ostream_sink_mt>(said_)};
    log().set_pattern("%l: %v");
  }
  ~TuningTest() override {
    log().sinks() = sinks_;
    log().set_pattern("quadrille: %^%l%$: %v");
    std::filesystem::remove_all(folder_);
  }

  std::string path(const std::string& name = "tuning.json") const { return (folder_ / name).string(); }
  TuningSettings settings(const std::string& name = "tuning.json") const { return {.file = path(name)}; }
  static std::string content(const std::string& name) {
    std::ifstream stream(name, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  nlohmann::json entries(const std::string& name = "tuning.json") const {
    return nlohmann::json::parse(content(path(name))).at("entries");
  }
  /// How often a level ("warning: ") was logged.
  std::size_t lines(const std::string& level) const {
    const std::string text = said_.str();
    std::size_t count = 0;
    for (auto at = text.find(level); at != std::string::npos; at = text.find(level, at + 1)) ++count;
    return count;
  }
  std::size_t warnings() const { return lines("warning: "); }
  /// The choice of a new process, that measures where it must.
  int chosen(Fake& fake, const TuningKey& what = key, const std::vector<std::string>& candidates = three) const {
    return Tuner(settings()).choose(what, candidates, fake.measure());
  }
  /// True when a new process finds the choice 1 of `what` without measuring.
  bool remembered(const TuningKey& what = key) const {
    Fake fake(second_wins);
    return chosen(fake, what) == 1 && fake.calls() == std::vector<int>(3, 0);
  }

  std::filesystem::path folder_;
  std::ostringstream said_;
  std::vector<spdlog::sink_ptr> sinks_;
};

}  // namespace quadrille::testing
