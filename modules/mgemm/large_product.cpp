#include "modules/mgemm/large_product.h"

#include "core/isa.h"
#include "modules/mgemm/kernels.h"

#include <algorithm>
#include <cmath>

namespace quadrille::mgemm {
namespace {

AddRow find_kernel() {
  switch (active_isa()) {
#ifdef QUADRILLE_HAVE_AVX512
    case Isa::Avx512: return find_add_row_avx512();
#endif
#ifdef QUADRILLE_HAVE_AVX2
    case Isa::Avx2: return find_add_row_avx2();
#endif
    default: return find_add_row_generic();
  }
}

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
  for (int lane = 0; lane < lanes; ++lane) {
    const double* from = d.line(first + lane);
    for (std::size_t slot = 0; slot < columns.size(); ++slot)
      packed[slot * large_lanes + lane] = keep(from[columns[slot]]);
  }
}

}  // namespace

void add_large_product(double alpha, const LargeElements& large, DenseView<const double> d, double skip_above,
                       DenseView<double> c) {
  if (large.count() == 0) return;
  const AddRow add_row = find_kernel();
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
      for (const LargeElements::Slab& slab : large.slabs) {
        pack(slab.columns, d, first, lanes, skip_above, numbers);
        for (const LargeElements::Row& row : slab.rows) {
          add_row(numbers, large.slots.data() + row.first, large.values.data() + row.first, row.count, alpha,
                  &c(row.row, first), c.by_rows ? 1 : c.ld, lanes);
        }
      }
    }
  }
}

}  // namespace quadrille::mgemm
