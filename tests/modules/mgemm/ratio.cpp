// Measures what a mixed-precision product gains over OpenBLAS in double precision:
//
//   mgemm_ratio [n = 4096] [salt fraction = 1e-4] [repetitions = 3] [salt magnitude = 100]
//
// Both products in one process, in alternating order; times of the whole call, analysis and split included.
#include "modules/mgemm/blas.h"
#include "modules/mgemm/cleaver.h"
#include "modules/mgemm/mgemm.h"
#include "tests/modules/mgemm/salted.h"
#include "tests/random_seed.h"

#include <cblas.h>
#include <omp.h>
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

namespace {

using namespace quadrille;

/// Of a call after the threads that waited for the one before have gone to sleep.
template <class Call>
double seconds(Call call) {
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto start = std::chrono::steady_clock::now();
  call();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> times) {
  std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
  return times[times.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  openblas_set_num_threads(omp_get_max_threads());
  const std::int64_t n = argc > 1 ? std::atoll(argv[1]) : 4096;
  const double fraction = argc > 2 ? std::atof(argv[2]) : 1e-4;
  const int repetitions = argc > 3 ? std::atoi(argv[3]) : 3;
  const double salt = argc > 4 ? std::atof(argv[4]) : 100;
  const auto a = testing::salted_matrix(n * n, fraction, salt), b = testing::salted_matrix(n * n, fraction, salt);
  std::vector<double> in_double(a.size()), mixed(a.size());
  mgemm::Gemm<double> gemm;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = n;
  gemm.a = a.data();
  gemm.b = b.data();
  gemm.c = mixed.data();
  mgemm::Gemm<double> gemm_double = gemm;
  gemm_double.c = in_double.data();
  std::vector<double> double_times, mixed_times, cleaver_times;
  mgemm::MgemmReport report;
  mgemm::MgemmOptions options;
  options.always_split = true;
  for (int repetition = 0; repetition <= repetitions; ++repetition) {
    const auto plain = [&] {
      mgemm::dense_product(1.0, {a.data(), n, n, n, false}, {b.data(), n, n, n, false}, 0.0,
                           {in_double.data(), n, n, n, false});
    };
    const auto split = [&] { report = mgemm::mgemm(gemm, mgemm::Cutoff::at(1), options); };
    const bool double_first = repetition % 2 == 0;
    double time = 0;
    if (double_first) time = seconds(plain);
    const double split_time = seconds(split);
    if (!double_first) time = seconds(plain);
    const double cleaver_time = seconds([&] { mgemm::cleaver(gemm_double); });
    if (repetition == 0) continue;  // the first touch of memory
    double_times.push_back(time);
    mixed_times.push_back(split_time);
    cleaver_times.push_back(cleaver_time);
  }
  double error = 0;
  for (std::size_t i = 0; i < mixed.size(); ++i) error = std::max(error, std::abs(mixed[i] - in_double[i]));
  std::printf("n = %lld, salt %g of magnitude %g, %d threads, median of %d: double %.3f s, mixed %.3f s, ratio %.3f\n",
              (long long)n, fraction, salt, omp_get_max_threads(), repetitions, median(double_times),
              median(mixed_times), median(double_times) / median(mixed_times));
  std::printf("plain double through this module %.3f s\n", median(cleaver_times));
  std::printf("largest difference %.3g, bound %.3g, probable bound %.3g; %s: %s\n", error, report.bound,
              report.probable_bound, mgemm::to_string(report.form).c_str(), report.reason.c_str());
  return 0;
}
