#include "input/job_clock.h"

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

nlohmann::ordered_json JobClock::json() const {
  nlohmann::ordered_json out;
  for (std::size_t k = 0; k < seconds_.size(); ++k) out[names[k]] = seconds_[k];
  out["total"] = total();
  return out;
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
