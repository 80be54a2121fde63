// Measures products of random block-sparse matrices against cuBLAS's batched DGEMM on the same blocks, all in the
// memory of a GPU (132 and 322 GFLOP/s for blocks of 23 in Schuett, Messmer, Hutter and VandeVondele, on a K20X):
//
//   batched_products_cuda [block = 23] [blocks along a side = 400] [occupation = 0.25] [repetitions = 5]
//
// A batch must not have a block of C twice. So cuBLAS gets in round t the t-th product of each block of C, which its
// pointers name; their making is not timed. For comparison also one round alone, and products of successive blocks
// (strided), each with an A, B and C of its own. C of all rounds is compared with ours.
#include "core/backend/cuda/device_array.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/shared/dense/cuda/cublas.h"
#include "modules/shared/study/take_turns.h"
#include "tests/testing/backend_under_test.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace {

using namespace quadrille;
using namespace quadrille::block_dft;
using cuda::DeviceArray;
using Matrix = BlockMatrix<double>;

/// The median after one call that does not count, in seconds.
double median_of(int repetitions, const std::function<void()>& call) {
  std::vector<double> times;
  for (int r = 0; r <= repetitions; ++r) {
    testing::backend().synchronize();
    const double start = now();
    call();
    testing::backend().synchronize();
    if (r > 0) times.push_back(now() - start);
  }
  return median(times);
}

DeviceArray<double> sent(const Matrix& matrix) {
  DeviceArray<double> there(matrix.stored(), "a matrix", "");
  testing::backend().copy_in(there.get(), matrix.data().data(), std::size_t(matrix.stored()) * sizeof(double));
  return there;
}

/// The products of a batch: addresses on the device.
struct Round {
  std::vector<const double*> a, b;
  std::vector<double*> c;
};

struct Pointers {
  DeviceArray<const double*> a, b;
  DeviceArray<double*> c;
  int count;

  explicit Pointers(const Round& round)
      : a(cuda::sent(round.a, "pointers", "")),
        b(cuda::sent(round.b, "pointers", "")),
        c(cuda::sent(round.c, "pointers", "")),
        count(int(round.a.size())) {}
};

/// Round t has the t-th product, in ascending k, of each block of C = A B.
std::vector<Round> rounds_of(const Matrix& a, const double* a_there, const Matrix& b, const double* b_there,
                             const Matrix& c, double* c_there) {
  std::vector<Round> rounds;
  std::vector<std::size_t> done(std::size_t(c.block_count()), 0);
  a.for_each([&](std::int32_t i, std::int32_t k, std::int64_t of_a) {
    for (std::int64_t of_b = b.begin(k); of_b < b.end(k); ++of_b) {
      const std::int64_t of_c = c.find(i, b.column(of_b));
      const std::size_t t = done[std::size_t(of_c)]++;
      if (t == rounds.size()) rounds.emplace_back();
      rounds[t].a.push_back(a_there + a.offset(of_a));
      rounds[t].b.push_back(b_there + b.offset(of_b));
      rounds[t].c.push_back(c_there + c.offset(of_c));
    }
  });
  return rounds;
}

/// C += A B of each; blocks lie row by row, which cuBLAS takes as their transposes: C^T += B^T A^T.
void multiply_batch(int size, const Pointers& p) {
  const double one = 1;
  QUADRILLE_CUBLAS_CHECK(cublasDgemmBatched(cuda::cublas(), CUBLAS_OP_N, CUBLAS_OP_N, size, size, size, &one, p.b.get(),
                                            size, p.a.get(), size, &one, p.c.get(), size, p.count));
}

double largest_difference(const Matrix& c, const double* there) {
  const std::vector<double> found = cuda::fetched(there, c.stored());
  double most = 0;
  for (std::size_t k = 0; k < found.size(); ++k) most = std::max(most, std::abs(found[k] - c.data()[k]));
  return most;
}

void print(const char* what, double products, int size, double seconds) {
  std::printf("%-34s %10.0f products %9.3f ms %8.3f TFLOP/s\n", what, products, 1e3 * seconds,
              2e-12 * products * size * size * size / seconds);
}

void measure(int size, std::int32_t side, double occupation, int repetitions) {
  const BlockSizes sizes = random_sizes(side, {size}, 1);
  const Matrix a = random_blocks<double>(sizes, sizes, Symmetry::none, occupation, 1);
  const Matrix b = random_blocks<double>(sizes, sizes, Symmetry::none, occupation, 2);
  const DeviceMatrix a_ours(a), b_ours(b);
  DeviceMatrix c_ours;
  MultiplyReport fastest;
  const double ours = median_of(repetitions, [&] {
    c_ours = DeviceMatrix(sizes, sizes);
    const MultiplyReport report =
        multiply(1, Transpose::no, a_ours, Transpose::no, b_ours, 0, c_ours, {.driver = Driver::own});
    if (fastest.seconds == 0 || report.seconds < fastest.seconds) fastest = report;
  });
  const Matrix c = c_ours.fetch();
  print("ours, whole call", double(fastest.products), size, ours);
  print("ours, products alone", double(fastest.products), size, fastest.product_seconds);

  const DeviceArray<double> a_there = sent(a), b_there = sent(b), c_there(c.stored(), "a matrix", "");
  const auto clear = [&] {
    QUADRILLE_CUDA_CHECK(cudaMemsetAsync(c_there.get(), 0, std::size_t(c.stored()) * sizeof(double), cuda::stream()));
  };
  std::vector<Pointers> rounds;
  for (const Round& round : rounds_of(a, a_there.get(), b, b_there.get(), c, c_there.get())) rounds.emplace_back(round);
  const auto all_rounds = [&] {
    for (const Pointers& round : rounds) multiply_batch(size, round);
  };
  clear();
  all_rounds();
  const double difference = largest_difference(c, c_there.get());
  print("cublasDgemmBatched, all rounds", double(fastest.products), size, median_of(repetitions, all_rounds));
  print("cublasDgemmBatched, one round", rounds[0].count, size,
        median_of(repetitions, [&] { multiply_batch(size, rounds[0]); }));
  const int strided = int(std::min({a.block_count(), b.block_count(), c.block_count()}));
  const long long stride = (long long)size * size;
  const double one = 1;
  print("cublasDgemmStridedBatched", strided, size, median_of(repetitions, [&] {
          QUADRILLE_CUBLAS_CHECK(cublasDgemmStridedBatched(cuda::cublas(), CUBLAS_OP_N, CUBLAS_OP_N, size, size, size,
                                                           &one, b_there.get(), size, stride, a_there.get(), size,
                                                           stride, &one, c_there.get(), size, stride, strided));
        }));
  std::printf("largest difference of C: %.2g\n", difference);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int number, double otherwise) {
    return argc > number ? std::atof(argv[number]) : otherwise;
  };
  measure(int(argument(1, 23)), std::int32_t(argument(2, 400)), argument(3, 0.25), int(argument(4, 5)));
  return 0;
}
