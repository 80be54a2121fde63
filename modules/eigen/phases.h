// Runs the phases of a solution one after the other and keeps their times.
#pragma once

#include "modules/eigen/problem.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace quadrille::eigen {

/// factor n^3 multiplications and additions of T, in real operations.
template <class T>
double cube(std::int64_t n, double factor) {
  return (is_complex<T> ? 4 : 1) * factor * double(n) * double(n) * double(n);
}

class Phases {
 public:
  /// all_flops: of all phases, for the share that `progress` is told.
  Phases(const Progress& progress, double all_flops) : progress_(progress), all_flops_(all_flops) {}

  template <class Work>
  void run(const char* name, double flops, Work&& work) {
    if (progress_) progress_(name, all_flops_ > 0 ? std::min(1.0, done_flops_ / all_flops_) : 0);
    const double began = now();
    work();
    phases_.push_back({name, now() - began, flops});
    done_flops_ += flops;
  }
  std::vector<Phase> take() { return std::move(phases_); }

 private:
  Progress progress_;
  double all_flops_, done_flops_ = 0;
  std::vector<Phase> phases_;
};

}  // namespace quadrille::eigen
