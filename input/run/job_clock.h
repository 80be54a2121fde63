// Where the time of a job goes, and how much memory it takes.
#pragma once

#include "core/backend/backend.h"

#include <nlohmann/json.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <string>

namespace quadrille {

/// What a job is doing. Time in none of these counts in the total alone.
enum class Phase {
  read,          ///< links and propagators from files, or made by a start, and measured
  setup,         ///< forms of links, operators, solvers, sources; the tuning of kernels
  solves,        ///< as the sum of the reports' seconds
  contractions,  ///< of propagators to correlators
  write,         ///< gauge fields and propagators into files
};

/// Wall-clock seconds of each phase from the clock's making on, and those of earlier runs of the job. One thread uses
/// it.
class JobClock {
 public:
  JobClock() : begin_(Clock::now()) {}

  /// Counts until the end of its life, work queued meanwhile included; not while another span
  /// counts inside of it.
  class Span {
   public:
    Span(JobClock& clock, Phase phase, Backend& backend);
    Span(const Span&) = delete;
    ~Span();

   private:
    JobClock& clock_;
    Backend& backend_;
    Phase phase_;
    Span* outer_;
    std::chrono::steady_clock::time_point begin_;
    double inner_ = 0;
  };

  /// Of this run.
  double seconds(Phase phase) const { return seconds_[std::size_t(phase)]; }
  double total() const;
  /// Adds what json() of an earlier run gave.
  void continue_from(const nlohmann::ordered_json& earlier);
  /// `timing` of results.json: of all runs.
  nlohmann::ordered_json json() const;
  /// "total 2.81 s, solves 2.31 s", of this run, and of all when there are more.
  std::string text() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  std::array<double, 5> seconds_{}, earlier_seconds_{};
  double earlier_total_ = 0;
  int runs_ = 1;
  Span* current_ = nullptr;
};

/// The largest memory of this process so far (VmHWM), in bytes; 0 where the system does not say.
std::size_t host_peak_bytes();

}  // namespace quadrille
