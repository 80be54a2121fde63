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

/// Wall-clock seconds of each phase from the clock's making on. One thread uses it.
class JobClock {
 public:
  JobClock() : begin_(Clock::now()) {}

  /// Counts until the end of its life, what the backend has been asked for meanwhile included; not while another span
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

  double seconds(Phase phase) const { return seconds_[std::size_t(phase)]; }
  double total() const;
  /// `timing` of results.json.
  nlohmann::ordered_json json() const;

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_;
  std::array<double, 5> seconds_{};
  Span* current_ = nullptr;
};

/// The largest memory of this process so far (VmHWM), in bytes; 0 where the system does not say.
std::size_t host_peak_bytes();

}  // namespace quadrille
