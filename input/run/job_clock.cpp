#include "input/run/job_clock.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

namespace quadrille {

namespace {

constexpr const char* names[] = {"read", "setup", "solves", "contractions", "write"};

double since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

JobClock::Span::Span(JobClock& clock, Phase phase, Backend& backend)
    : clock_(clock), backend_(backend), phase_(phase), outer_(clock.current_), begin_(Clock::now()) {
  clock_.current_ = this;
}

JobClock::Span::~Span() {
  try {
    backend_.synchronize();
  } catch (...) {  // the next call of the backend says it again, where it can be reported
  }
  const double seconds = since(begin_);
  clock_.seconds_[std::size_t(phase_)] += seconds - inner_;
  if (outer_ != nullptr) outer_->inner_ += seconds;
  clock_.current_ = outer_;
}

double JobClock::total() const { return since(begin_); }

void JobClock::continue_from(const nlohmann::ordered_json& earlier) {
  for (std::size_t k = 0; k < seconds_.size(); ++k) earlier_seconds_[k] += earlier.value(names[k], 0.0);
  earlier_total_ += earlier.value("total", 0.0);
  runs_ += earlier.value("runs", 0);
}

nlohmann::ordered_json JobClock::json() const {
  nlohmann::ordered_json out;
  for (std::size_t k = 0; k < seconds_.size(); ++k) out[names[k]] = earlier_seconds_[k] + seconds_[k];
  out["total"] = earlier_total_ + total();
  out["runs"] = runs_;
  return out;
}

std::string JobClock::text() const {
  const auto said = [](double total, double solves) {
    return fmt::format("total {:.2f} s{}", total, solves > 0 ? fmt::format(", solves {:.2f} s", solves) : "");
  };
  const double now = total(), solves = seconds(Phase::solves);
  if (runs_ == 1) return said(now, solves);
  return fmt::format("this run: {}; all {} runs: {}", said(now, solves), runs_,
                     said(earlier_total_ + now, earlier_seconds_[std::size_t(Phase::solves)] + solves));
}

std::size_t host_peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::size_t kib = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %zu kB", &kib) == 1) return kib << 10;
  }
  return 0;
}

}  // namespace quadrille
