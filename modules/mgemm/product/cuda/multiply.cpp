// The product of two factors in parts: dense products by cuBLAS, and what is added to their sums.
#include "core/error.h"
#include "modules/mgemm/product/cuda/factor.h"
#include "modules/shared/dense/cuda/cublas.h"
#include "modules/shared/dense/cuda/integer_product.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::mgemm {
namespace {

std::int64_t up_to_16(std::int64_t count) { return (count + 15) / 16 * 16; }

struct Types {
  cudaDataType_t parts;
  cublasComputeType_t compute;
};

/// Of a form whose sums are in single precision.
Types types_of(SmallForm form) {
  switch (form) {
    case SmallForm::single: return {CUDA_R_32F, CUBLAS_COMPUTE_32F};
    case SmallForm::half2: return {CUDA_R_16F, CUBLAS_COMPUTE_32F};
    default: throw Error(ErrorCode::internal, "this form of the small product does not sum in single precision");
  }
}

class PartProduct {
 public:
  PartProduct(double alpha, const ConvertedRange& a, const ConvertedRange& b, double beta, DenseView<double> c,
              std::int64_t depth)
      : alpha_(alpha),
        beta_(beta),
        a_(a),
        b_(b),
        c_(c),
        form_(a.factor->form()),
        depth_(depth),
        padded_(a.factor->padded()),
        ld_(up_to_16(c.rows)),
        sums_(ld_ * up_to_16(c.cols), "the sums of a split product", memory_advice) {}

  void run() {
    // Small terms first. Sums in single precision are added up in place, those of integers in C, in double.
    bool begun = false, merged = false;
    for (int order = form_.parts - 1; order >= 0; --order) {
      const std::int64_t terms = (order + 1) * padded_, longest = depth_of_order(form_, depth_, order);
      for (std::int64_t first = 0; first < terms; first += longest) {
        const std::int64_t count = std::min(longest, terms - first);
        multiply(order, first, count, begun && !form_.integer);
        const bool last = order == 0 && first + count == terms;
        begun = true;
        if (!last && !form_.integer) continue;
        merge(order, last, merged ? 1 : beta_);
        merged = true;
      }
    }
    add_multiplied_left(alpha_, a_.factor->large(a_.first), lines_of_b(), c_);
  }

 private:
  DenseView<const double> lines_of_b() const {
    const DenseView<const double> b = b_.factor->matrix();
    return b.block(0, b_.first, b.rows, b_.count);
  }
  DenseView<const double> lines_of_a() const {
    const DenseView<const double> a = a_.factor->matrix();
    return a.block(a_.first, 0, a_.count, a.cols);
  }

  /// Terms [first, first + count) of the sum over r + s = order. Parts 0, ..., order of A lie one behind the other, and
  /// beside them, in the same places of the last parts of B's lines, order, ..., 0.
  void multiply(int order, std::int64_t first, std::int64_t count, bool add) {
    const std::int64_t line = form_.parts * padded_;
    const auto from = [&](const ConvertedRange& range, std::int64_t place) {
      return static_cast<const std::byte*>(range.factor->parts(range.first)) + place * form_.bytes;
    };
    const void* a = from(a_, first);
    const void* b = from(b_, (form_.parts - 1 - order) * padded_ + first);
    if (form_.integer) {
      // Matrix units take them in multiples of 16 lines; what lies behind the factors' lines goes where nobody reads.
      cuda::multiply_integers({up_to_16(c_.rows), up_to_16(c_.cols), count, static_cast<const std::int8_t*>(a), line,
                               static_cast<const std::int8_t*>(b), line, sums_.get(), ld_});
      return;
    }
    const Types types = types_of(form_.form);
    const float one = 1, beta = add ? 1.0f : 0.0f;
    QUADRILLE_CUBLAS_CHECK(cublasGemmEx_64(cuda::cublas(), CUBLAS_OP_T, CUBLAS_OP_N, c_.rows, c_.cols, count, &one, a,
                                           types.parts, line, b, types.parts, line, &beta, sums_.get(), CUDA_R_32F, ld_,
                                           types.compute, CUBLAS_GEMM_DEFAULT));
  }

  void merge(int order, bool last, double beta) {
    PartSums sums{sums_.get(), form_.integer, ld_, std::ldexp(1.0, a_.factor->unit_exponent()),
                  std::ldexp(1.0, b_.factor->unit_exponent())};
    // x = 2^(2 - 8 R) sum_r digit_r 256^(R-1-r): the product of digits r and s counts 2^(-12 - 8 (r + s)).
    if (form_.integer) sums.unit_a = std::ldexp(sums.unit_a, -12 - 8 * order);
    const LargeLines large = last ? b_.factor->large(b_.first) : LargeLines{};
    merge_and_multiply_right(alpha_, sums, lines_of_a(), a_.factor->delta(), large, beta, c_);
  }

  double alpha_, beta_;
  ConvertedRange a_, b_;
  DenseView<double> c_;
  const FormTraits& form_;
  std::int64_t depth_, padded_, ld_;
  cuda::DeviceArray<std::int32_t> sums_;  ///< or floats, of the same size
};

}  // namespace

void multiply_converted(double alpha, const ConvertedRange& a, const ConvertedRange& b, double beta,
                        DenseView<double> c, std::int64_t depth) {
  PartProduct(alpha, a, b, beta, c, depth).run();
}

std::int64_t multiply_bytes(std::int64_t m, std::int64_t n, std::int64_t k) {
  return up_to_16(m) * up_to_16(n) * 4 + transposed_bytes(m, n, k) + 4096;
}

}  // namespace quadrille::mgemm
