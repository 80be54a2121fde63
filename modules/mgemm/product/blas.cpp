#include "modules/mgemm/product/blas.h"

#include <cblas.h>
#include <omp.h>
#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>

namespace quadrille::mgemm {
namespace {

template <class T>
blasint leading(const DenseView<T>& view) {
  return blasint(std::max<std::int64_t>({view.ld, view.line_length(), 1}));
}

template <class T>
CBLAS_TRANSPOSE transpose(const DenseView<const T>& view) {
  return view.by_rows ? CblasTrans : CblasNoTrans;
}

void set_blas_threads(int threads) {
  if (threads == openblas_get_num_threads()) return;
  // OpenBLAS's flavour for OpenMP may set the number of OpenMP's threads along with its own.
  const int own = omp_get_max_threads();
  openblas_set_num_threads(threads);
  if (omp_get_max_threads() != own) omp_set_num_threads(own);
}

/// Who wants what number of threads, on all threads of the process; `before`: the number where nobody wants any.
struct BlasUsers {
  std::mutex mutex;
  int one = 0, all = 0, before = 1;

  void change(int& users, int by) {
    const std::lock_guard lock(mutex);
    if (one + all == 0) before = openblas_get_num_threads();
    users += by;
    set_blas_threads(one > 0 ? 1 : all > 0 ? omp_get_max_threads() : before);
  }
} blas_users;

}  // namespace

OneBlasThread::OneBlasThread() { blas_users.change(blas_users.one, 1); }
OneBlasThread::~OneBlasThread() { blas_users.change(blas_users.one, -1); }

AllBlasThreads::AllBlasThreads() { blas_users.change(blas_users.all, 1); }
AllBlasThreads::~AllBlasThreads() { blas_users.change(blas_users.all, -1); }

void dense_product(double alpha, DenseView<const double> a, DenseView<const double> b, double beta,
                   DenseView<double> c) {
  cblas_dgemm(CblasColMajor, transpose(a), transpose(b), blasint(c.rows), blasint(c.cols), blasint(a.cols), alpha,
              a.data, leading(a), b.data, leading(b), beta, c.data, leading(c));
}

void dense_product(float alpha, DenseView<const float> a, DenseView<const float> b, float beta, DenseView<float> c) {
  cblas_sgemm(CblasColMajor, transpose(a), transpose(b), blasint(c.rows), blasint(c.cols), blasint(a.cols), alpha,
              a.data, leading(a), b.data, leading(b), beta, c.data, leading(c));
}

Tile choose_tile(std::int64_t m, std::int64_t n, std::int64_t max_numbers) {
  constexpr std::int64_t largest = 1024, smallest = 256, enough = 16;
  Tile tile{largest, largest};
  while (std::max(tile.rows, tile.cols) > smallest && tiles_along(m, tile.rows) * tiles_along(n, tile.cols) < enough) {
    (tile.rows > tile.cols ? tile.rows : tile.cols) /= 2;
  }
  while (tile.rows * tile.cols > max_numbers && tile.rows > 1) (tile.rows > tile.cols ? tile.rows : tile.cols) /= 2;
  return tile;
}

/// Lets the first thread of a parallel loop pause between its parts: no exception may leave such a loop.
class PauseInLoop {
 public:
  explicit PauseInLoop(const Pause& pause) : pause_(pause) {}

  /// Whether the loop's next part is still to be done.
  bool goes_on() {
    if (pause_ && omp_get_thread_num() == 0 && !ended_) {
      try {
        pause_();
      } catch (...) {
        thrown_ = std::current_exception();
        ended_ = true;
      }
    }
    return !ended_;
  }
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }

 private:
  const Pause& pause_;
  std::atomic<bool> ended_ = false;
  std::exception_ptr thrown_;
};

template <class T>
void shared_product(T alpha, DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c, const Pause& pause) {
  const OneBlasThread one;
  const Tile tile = choose_tile(c.rows, c.cols, std::numeric_limits<std::int64_t>::max());
  const std::int64_t row_tiles = tiles_along(c.rows, tile.rows), tiles = row_tiles * tiles_along(c.cols, tile.cols);
  if (pause) pause();  // in the loop others may be first to every tile
  PauseInLoop loop(pause);
#pragma omp parallel for schedule(dynamic) if (tiles > 1)
  for (std::int64_t number = 0; number < tiles; ++number) {
    if (!loop.goes_on()) continue;
    const std::int64_t i = number % row_tiles * tile.rows, j = number / row_tiles * tile.cols;
    const std::int64_t rows = std::min(tile.rows, c.rows - i), cols = std::min(tile.cols, c.cols - j);
    dense_product(alpha, a.block(i, 0, rows, a.cols), b.block(0, j, b.rows, cols), beta, c.block(i, j, rows, cols));
  }
  loop.rethrow();
}

template void shared_product(double, DenseView<const double>, DenseView<const double>, double, DenseView<double>,
                             const Pause&);
template void shared_product(float, DenseView<const float>, DenseView<const float>, float, DenseView<float>,
                             const Pause&);

}  // namespace quadrille::mgemm
