#include "modules/block_dft/tasks/multiply_study.h"

#include "core/backend/of_backend.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/matrix/block_algebra.h"
#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/mgemm/product/blas.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>

namespace quadrille::block_dft {
namespace {

template <class T>
struct Product {
  BlockMatrix<T> a, b, c, before;

  explicit Product(const StudyProblem& p) {
    const Symmetry symmetry = p.symmetric ? Symmetry::symmetric : Symmetry::none;
    a = p.transpose ? random_blocks<T>(p.k, p.m, symmetry, p.occupation, p.seed, p.decay)
                    : random_blocks<T>(p.m, p.k, symmetry, p.occupation, p.seed, p.decay);
    if (!p.symmetric) b = random_blocks<T>(p.k, p.n, symmetry, p.occupation, p.seed + 1, p.decay);
    before = p.accumulate ? random_blocks<T>(p.m, p.n, symmetry, p.occupation, p.seed + 2, p.decay)
                          : BlockMatrix<T>(p.m, p.n, symmetry);
  }

  /// After c = before.
  MultiplyReport run(const StudyProblem& p, const MultiplyOptions& options) {
    const BlockMatrix<T>& right = p.symmetric ? a : b;
    return multiply(T(1), p.transpose ? Transpose::yes : Transpose::no, a, Transpose::no, right,
                    T(p.accumulate ? 1 : 0), c, options);
  }
};

/// Of all ranks, where there are several.
double slowest(const StudyProblem& p, double value) {
  if (p.m.grid()) p.m.grid()->ranks().maximum(&value, 1);
  return value;
}
double of_all_ranks(const StudyProblem& p, double value) {
  if (p.m.grid()) p.m.grid()->ranks().sum(&value, 1);
  return value;
}

template <class T>
double dense_seconds(const Product<T>& product, const StudyProblem& p, int repeats) {
  const std::vector<T> a = product.a.to_dense(), b = p.symmetric ? a : product.b.to_dense();
  const std::int64_t m = p.m.total(), n = p.n.total(), k = p.k.total();
  std::vector<T> c(std::size_t(m * n));
  std::vector<double> seconds;
  const mgemm::AllBlasThreads all;
  for (int time = 0; time < repeats; ++time) {
    seconds.push_back(seconds_of([&] {
      mgemm::dense_product(T(1), DenseView<const T>{b.data(), n, k, n, false},
                           DenseView<const T>{a.data(), k, m, k, false}, T(0), DenseView<T>{c.data(), n, m, n, false});
    }));
  }
  return median(seconds);
}

/// Of the factors of all products that are done, on average blocks.
template <class T>
double factor_bytes(const MultiplyReport& report, const StudyProblem& p) {
  const double m = double(p.m.total()) / p.m.count(), n = double(p.n.total()) / p.n.count();
  const double k = double(p.k.total()) / p.k.count();
  return double(report.products) * sizeof(T) * (m * k + k * n);
}

void set_times(StudyRow& row, const std::vector<double>& seconds) {
  row.seconds = median(seconds);
  const auto [shortest, longest] = std::minmax_element(seconds.begin(), seconds.end());
  row.shortest_seconds = *shortest;
  row.longest_seconds = *longest;
}

template <class T>
std::vector<StudyRow> measure(const StudyProblem& p, const StudyOptions& options,
                              const std::function<void(int, int)>& progress) {
  Product<T> product(p);
  std::vector<StudyRow> rows;
  for (const Driver driver : options.drivers) {
    rows.push_back({.driver = driver});
    if (options.mixed && !p.single) rows.push_back({.driver = driver, .mixed = true});
  }
  std::vector<std::vector<double>> seconds(rows.size());
  std::optional<BlockMatrix<T>> exact;
  if (options.check) {
    product.c = copied(product.before);
    product.run(p, {});
    exact = copied(product.c);
  }
  const int calls = options.repeats * int(rows.size());
  int done = 0;
  take_turns(options.repeats, rows.size(), [&](std::size_t which) {
    StudyRow& row = rows[which];
    MultiplyReport report;
    product.c = copied(product.before);
    const MultiplyOptions how{.eps = p.eps, .mixed = row.mixed, .driver = row.driver};
    if (p.m.grid()) p.m.grid()->ranks().barrier();
    seconds[which].push_back(slowest(p, seconds_of([&] { report = product.run(p, how); })));
    if (row.report.seconds == 0 || report.seconds < row.report.seconds) row.report = report;
    row.c_occupation = product.c.occupation();
    row.bytes = of_all_ranks(p, double(product.a.bytes() + product.b.bytes() + product.c.bytes()));
    if (exact && !row.error) {
      BlockMatrix<T> difference = copied(product.c);
      add(T(1), difference, T(-1), *exact);
      row.error = frobenius_norm(difference);
    }
    progress(++done, calls);
  });
  std::optional<double> dense;
  if (options.dense) dense = dense_seconds(product, p, options.repeats);
  const double a_occupation = product.a.occupation();
  for (std::size_t which = 0; which < rows.size(); ++which) {
    set_times(rows[which], seconds[which]);
    rows[which].a_occupation = a_occupation;
    rows[which].product_bytes = factor_bytes<T>(rows[which].report, p);
    rows[which].dense_seconds = dense;
  }
  return rows;
}

/// One row, with `mixed` two.
std::vector<StudyRow> rows_on_gpu(const StudyOptions& options) {
  std::vector<StudyRow> rows(options.mixed ? 2 : 1);
  if (options.mixed) rows[1].mixed = true;
  return rows;
}

/// What rows are made of: products of M, a matrix in the device's memory or in pinned memory of the host. `run(c, how)`
/// computes one, `error(c)` says how far it is from the exact one.
template <class M, class Run, class Error>
void measure_rows(const StudyProblem& p, const StudyOptions& options, double factor_bytes_there, M& c, Run run,
                  Error error, const std::function<void(int, int)>& progress, std::vector<StudyRow>& rows) {
  std::vector<std::vector<double>> seconds(rows.size());
  const int calls = options.repeats * int(rows.size());
  int done = 0;
  take_turns(options.repeats, rows.size(), [&](std::size_t which) {
    StudyRow& row = rows[which];
    if (p.m.grid()) p.m.grid()->ranks().barrier();
    const MultiplyReport report = run(c, {.eps = p.eps, .mixed = row.mixed});
    seconds[which].push_back(slowest(p, report.seconds));
    if (row.report.seconds == 0 || report.seconds < row.report.seconds) row.report = report;
    row.bytes = of_all_ranks(p, factor_bytes_there + double(c.bytes()));
    row.c_occupation = c.occupation();
    if (options.check && !row.error) row.error = error(c);
    progress(++done, calls);
  });
  for (std::size_t which = 0; which < rows.size(); ++which) {
    set_times(rows[which], seconds[which]);
    rows[which].product_bytes = factor_bytes<double>(rows[which].report, p);
  }
}

double distance_between(DeviceMatrix c, const DeviceMatrix& exact) {
  add(1, c, -1, exact);
  return frobenius_norm(c);
}

/// The first call, which takes the memory that later ones find in the pool, is not timed.
std::vector<StudyRow> measure_on_gpu(const StudyProblem& p, const StudyOptions& options, const Product<double>& product,
                                     const std::function<void(int, int)>& progress) {
  std::vector<StudyRow> rows = rows_on_gpu(options);
  const Transpose op_a = p.transpose ? Transpose::yes : Transpose::no;
  const double began = now();
  const DeviceMatrix a(product.a), b(p.symmetric ? product.a : product.b);
  const double transfer_seconds = now() - began;
  const auto run = [&](DeviceMatrix& c, const MultiplyOptions& how) {
    c = DeviceMatrix(product.before);
    return multiply(1, op_a, a, Transpose::no, b, p.accumulate ? 1 : 0, c, how);
  };
  DeviceMatrix c, exact;
  run(options.check ? exact : c, {});
  measure_rows(
      p, options, double(a.bytes() + b.bytes()), c, run,
      [&](const DeviceMatrix& found) { return distance_between(copied(found), exact); }, progress, rows);
  const double a_occupation = product.a.occupation();
  for (StudyRow& row : rows) {
    row.transfer_seconds = transfer_seconds;
    row.a_occupation = a_occupation;
  }
  return rows;
}

/// The same from pinned memory, after it has been measured without.
std::vector<StudyRow> measure_pinned(const StudyProblem& p, const StudyOptions& options, const Product<double>& product,
                                     const std::function<void(int, int)>& progress) {
  const int half = options.repeats * (options.mixed ? 2 : 1);
  StudyOptions alone = options;
  alone.check = false;
  std::vector<StudyRow> rows = measure_on_gpu(p, alone, product, [&](int done, int) { progress(done, 2 * half); });
  const Transpose op_a = p.transpose ? Transpose::yes : Transpose::no;
  const PinnedMatrix a(product.a), b(p.symmetric ? product.a : product.b);
  const auto run = [&](PinnedMatrix& c, const MultiplyOptions& how) {
    if (p.accumulate) c = PinnedMatrix(product.before);
    return multiply(1, op_a, a, Transpose::no, b, p.accumulate ? 1 : 0, c, how);
  };
  PinnedMatrix c(p.m, p.n, p.symmetric ? Symmetry::symmetric : Symmetry::none);
  run(c, {});
  DeviceMatrix exact;
  if (options.check) exact = DeviceMatrix(c.copy());
  for (StudyRow& row : rows) {
    row.device_seconds = row.seconds;
    row.report = {};
  }
  measure_rows(
      p, options, double(a.bytes() + b.bytes()), c, run,
      [&](const PinnedMatrix& found) { return distance_between(DeviceMatrix(found.copy()), exact); },
      [&](int done, int) { progress(half + done, 2 * half); }, rows);
  return rows;
}

}  // namespace

std::vector<StudyRow> measure_products(const StudyProblem& problem, const StudyOptions& options,
                                       const std::function<void(int, int)>& progress) {
  if (options.on_gpu) {
    const Product<double> product(problem);
    return with_cuda<std::vector<StudyRow>>([&](auto) {
      return options.pinned ? measure_pinned(problem, options, product, progress)
                            : measure_on_gpu(problem, options, product, progress);
    });
  }
  return problem.single ? measure<float>(problem, options, progress) : measure<double>(problem, options, progress);
}

}  // namespace quadrille::block_dft
