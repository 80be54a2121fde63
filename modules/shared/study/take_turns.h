// Seconds, and those of things that are compared with each other on a machine that does more than that.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <thread>
#include <vector>

namespace quadrille {

/// Seconds since some moment.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds of a call, begun after the threads that waited for the one before have gone to sleep: those of OpenMP spin
/// for a while, and would take the cores from those of OpenBLAS.
template <class Call>
double seconds_of(Call&& call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const double start = now();
  call();
  return now() - start;
}

/// Calls call(0), ..., call(count - 1), `times` times, every second time backwards: what slows the machine down for a
/// while, or speeds it up, meets them alike.
template <class Call>
void take_turns(int times, std::size_t count, Call&& call) {
  for (int time = 0; time < times; ++time) {
    for (std::size_t k = 0; k < count; ++k) call(time % 2 == 0 ? k : count - 1 - k);
  }
}

/// Of an even number of values the mean of the two in the middle; 0 of none.
inline double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace quadrille
