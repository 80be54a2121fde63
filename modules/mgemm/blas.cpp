#include "modules/mgemm/blas.h"

#include <cblas.h>
#include <algorithm>

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

}  // namespace

BlasThreads::BlasThreads(int threads) : before_(openblas_get_num_threads()) {
  if (threads != before_) openblas_set_num_threads(threads);
}

BlasThreads::~BlasThreads() {
  if (openblas_get_num_threads() != before_) openblas_set_num_threads(before_);
}

void dense_product(double alpha, DenseView<const double> a, DenseView<const double> b, double beta,
                   DenseView<double> c) {
  cblas_dgemm(CblasColMajor, transpose(a), transpose(b), blasint(c.rows), blasint(c.cols), blasint(a.cols), alpha,
              a.data, leading(a), b.data, leading(b), beta, c.data, leading(c));
}

void dense_product(float alpha, DenseView<const float> a, DenseView<const float> b, float beta, DenseView<float> c) {
  cblas_sgemm(CblasColMajor, transpose(a), transpose(b), blasint(c.rows), blasint(c.cols), blasint(a.cols), alpha,
              a.data, leading(a), b.data, leading(b), beta, c.data, leading(c));
}

}  // namespace quadrille::mgemm
