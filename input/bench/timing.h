// How a time is measured: warm up, repeat in batches, quote the median.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

namespace quadrille::bench {

/// Median over batches of the seconds of one call. Calls once to warm up (caches, pages, threads, tuning), makes
/// batches of at least 10 ms, and takes 15 of them, or as many (5 at least) as fit into a second. `finish` ends a
/// batch: it waits for work that calls have only queued. A first call that took long has tuned kernels. That load puts
/// a GPU over its power limit, and then its clock falls for some hundred milliseconds (an H200's from 1,980 to 1,230
/// MHz): so the device rests before it is timed. `agree` makes one time of those of several ranks, which call together.
template <class Call, class Finish, class Agree>
double median_seconds(Call&& call, Finish&& finish, Agree&& agree) {
  using Clock = std::chrono::steady_clock;
  const auto timed = [&](int calls) {
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    finish();
    return agree(std::chrono::duration<double>(Clock::now() - start).count());
  };
  if (timed(1) > 0.1) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  int calls = 1;
  double last = timed(calls);
  for (; last < 0.01; last = timed(calls)) calls = std::max(2 * calls, int(0.011 / last * calls));
  const int batches = std::clamp(int(1.0 / last), 5, 15);
  std::vector<double> seconds;
  for (int i = 0; i < batches; ++i) seconds.push_back(timed(calls) / calls);
  std::nth_element(seconds.begin(), seconds.begin() + batches / 2, seconds.end());
  return seconds[std::size_t(batches / 2)];
}

template <class Call>
double median_seconds(Call&& call) {
  return median_seconds(
      call, [] {}, [](double seconds) { return seconds; });
}

}  // namespace quadrille::bench
