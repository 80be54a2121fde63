#include "input/run/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <unistd.h>

namespace quadrille {

namespace {

thread_local const ProgressListener* hearing = nullptr;

bool on_terminal() {
  const char* terminal = std::getenv("TERM");
  return isatty(STDERR_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

double seconds_left(double first, double now, double target, double elapsed) {
  if (!(now > 0) || !(first > 0) || !(target > 0)) return -1;
  const double done = std::log(first / now);
  const double left = std::log(now / target);
  if (left <= 0) return 0;
  return done > 0.1 ? elapsed * left / done : -1;
}

std::string duration_text(double seconds) {
  const auto whole = std::int64_t(std::ceil(std::min(seconds, 1e9)));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

HearProgress::HearProgress(ProgressListener listener) : listener_(std::move(listener)), before_(hearing) {
  hearing = &listener_;
}

HearProgress::~HearProgress() { hearing = before_; }

ProgressLine::ProgressLine(std::string task, int solves)
    : task_(std::move(task)),
      solves_(solves),
      listener_(hearing),
      active_(listener_ != nullptr ? bool(*listener_) : on_terminal()),
      began_(Clock::now()) {}

ProgressLine::~ProgressLine() {
  if (listener_ != nullptr) return;
  if (active_ && width_ > 0) show("");
  if (active_) std::fputc('\r', stderr);
}

void ProgressLine::begin_solves(int at_once) {
  solve_ = last_ + 1;
  last_ += at_once;
  residuals_.assign(std::size_t(at_once), 0);
  first_residual_ = 0;
  solve_began_ = Clock::now();
  shown_ = {};
}

void ProgressLine::update(const Progress& progress) {
  if (!active_) return;
  if (listener_ != nullptr) {
    return (*listener_)(std::size_t(std::max(solve_, 1) - 1 + progress.rhs), std::size_t(solves_), progress.iteration,
                        progress.residual);
  }
  const auto rhs = std::size_t(progress.rhs);
  if (rhs < residuals_.size()) residuals_[rhs] = progress.residual;
  double residual = progress.residual;
  for (const double other : residuals_) residual = std::max(residual, other);
  if (first_residual_ == 0) first_residual_ = residual;
  if (seconds_since(shown_) < 0.1) return;
  shown_ = Clock::now();
  double left = seconds_left(first_residual_, residual, progress.target, seconds_since(solve_began_));
  if (left >= 0) {
    const double before = std::chrono::duration<double>(solve_began_ - began_).count();
    const double each = solve_ > 1 ? before / (solve_ - 1) : (seconds_since(solve_began_) + left) / last_;
    left += each * (solves_ - last_);
  }
  const std::string which =
      solve_ == last_ ? fmt::format("solve {}", solve_) : fmt::format("solves {} to {}", solve_, last_);
  show(fmt::format("{}: {}/{}, iteration {}, residual {:.2e}, target {:.1e}{}", task_, which, solves_,
                   progress.iteration, residual, progress.target,
                   left < 0 ? std::string() : fmt::format(", {} left", duration_text(left))));
}

void ProgressLine::update(const std::string& state, double fraction) {
  if (!active_) return;
  if (listener_ != nullptr) return (*listener_)(0, 0, 0, 1 - fraction);
  if (seconds_since(shown_) < 0.1) return;
  shown_ = Clock::now();
  const double left = seconds_since(began_) * (1 / fraction - 1);
  show(fmt::format("{}: {}{}", task_, state,
                   fraction > 0 ? fmt::format(", {} left", duration_text(std::max(left, 0.0))) : std::string()));
}

void ProgressLine::show(const std::string& text) {
  fmt::print(stderr, "\r{:<{}}", text, width_);
  std::fflush(stderr);
  width_ = text.size();
}

}  // namespace quadrille
