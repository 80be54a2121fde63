#include "modules/mgemm/product/large_product.h"

#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "modules/mgemm/product/kernels.h"

#include <algorithm>
#include <cmath>

namespace quadrille::mgemm {
namespace {

MultiplyRow find_kernel() { return QUADRILLE_OF_ISA(active_isa(), find_multiply_row)(); }

/// packed[slot][lane] = D(columns[slot], first + lane), or 0 where that is large.
void pack(const std::vector<std::int32_t>& columns, const DenseView<const double>& d, std::int64_t first, int lanes,
          double skip_above, double* packed) {
  const auto keep = [skip_above](double x) { return std::abs(x) <= skip_above ? x : 0.0; };
  if (d.by_rows) {
    for (std::size_t slot = 0; slot < columns.size(); ++slot) {
      const double* from = d.line(columns[slot]) + first;
      double* to = packed + slot * large_lanes;
      for (int lane = 0; lane < lanes; ++lane) to[lane] = keep(from[lane]);
    }
    return;
  }
  // A few lines of D at a time: more would push each other out of the cache when they lie a power of 2 apart.
  constexpr int group = 4;
  for (int begin = 0; begin < lanes; begin += group) {
    const int end = std::min(lanes, begin + group);
    for (std::size_t slot = 0; slot < columns.size(); ++slot) {
      double* to = packed + slot * large_lanes;
      for (int lane = begin; lane < end; ++lane) to[lane] = keep(d.line(first + lane)[columns[slot]]);
    }
  }
}

/// Rows of results on their way to columns of C. Where C is stored by columns, they are added a column at a time: lines
/// of C that lie a power of 2 apart share few places of the cache.
class Results {
 public:
  Results(const DenseView<double>& c, std::int64_t first, int lanes) : c_(c), first_(first), lanes_(lanes) {}

  double* next(std::int32_t row) {
    if (count_ == capacity) flush();
    rows_[count_] = row;
    return numbers_[count_++];
  }
  void flush() {
    if (c_.by_rows) {
      for (int i = 0; i < count_; ++i) {
        double* to = c_.line(rows_[i]) + first_;
        for (int lane = 0; lane < lanes_; ++lane) to[lane] += numbers_[i][lane];
      }
    } else {
      for (int lane = 0; lane < lanes_; ++lane) {
        double* to = c_.line(first_ + lane);
        for (int i = 0; i < count_; ++i) to[rows_[i]] += numbers_[i][lane];
      }
    }
    count_ = 0;
  }

 private:
  static constexpr int capacity = 64;
  alignas(64) double numbers_[capacity][large_lanes];
  std::int32_t rows_[capacity];
  int count_ = 0;
  const DenseView<double>& c_;
  std::int64_t first_;
  int lanes_;
};

}  // namespace

void add_large_product(double alpha, const LargeElements& large, DenseView<const double> d, double skip_above,
                       DenseView<double> c) {
  if (large.count() == 0) return;
  const MultiplyRow multiply_row = find_kernel();
  const std::int64_t blocks = (d.cols + large_lanes - 1) / large_lanes;
#pragma omp parallel
  {
    struct alignas(64) Line {
      double lanes[large_lanes] = {};
    };
    std::vector<Line> packed(std::size_t(std::min(d.rows, large_slab)));
    double* numbers = packed.front().lanes;
#pragma omp for schedule(dynamic)
    for (std::int64_t block = 0; block < blocks; ++block) {
      const std::int64_t first = block * large_lanes;
      const int lanes = int(std::min<std::int64_t>(large_lanes, d.cols - first));
      Results results(c, first, lanes);
      for (const LargeElements::Slab& slab : large.slabs) {
        pack(slab.columns, d, first, lanes, skip_above, numbers);
        for (const LargeElements::Row& row : slab.rows) {
          multiply_row(numbers, large.slots.data() + row.first, large.values.data() + row.first, row.count, alpha,
                       results.next(row.row));
        }
        results.flush();
      }
    }
  }
}

}  // namespace quadrille::mgemm
