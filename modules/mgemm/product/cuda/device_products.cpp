// The products that a study compares, on a GPU.
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/compared_products.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/mgemm/product/cuda/factor.h"

#include <utility>

namespace quadrille::mgemm {
namespace {

using cuda::DeviceArray;

constexpr const char* what = "a matrix of a study";
constexpr const char* advice = "study smaller matrices";

template <class T>
DeviceArray<T> room_for(std::size_t count) {
  return {std::int64_t(count), what, advice};
}

template <class T>
DeviceArray<T> sent(const std::vector<T>& matrix) {
  return cuda::sent(matrix, what, advice);
}

class DeviceProducts : public ComparedProducts {
 public:
  explicit DeviceProducts(ComparedCase one)
      : one_(std::move(one)),
        a_(sent(one_.a)),
        b_(sent(one_.b)),
        reference_there_(room_for<double>(one_.a.size())),
        c_there_(room_for<double>(one_.a.size())),
        single_a_(sent(std::vector<float>(one_.a.begin(), one_.a.end()))),
        single_b_(sent(std::vector<float>(one_.b.begin(), one_.b.end()))),
        single_there_(room_for<float>(one_.a.size())) {}

  void dgemm() override { dense(view(a_).constant(), view(b_).constant(), view(reference_there_)); }
  void sgemm() override { dense(view(single_a_).constant(), view(single_b_).constant(), view(single_there_)); }
  CleaverReport panels() override {
    c_.resize(one_.a.size());
    c_is_there_ = false;
    return cleaver(gemm(one_.a.data(), one_.b.data(), c_.data()), {one_.memory_cap, &cuda_backend()});
  }
  MgemmReport mixed() override {
    const MgemmReport report = mgemm_on_device(gemm(a_.get(), b_.get(), c_there_.get()), one_.cutoff, one_.options);
    cuda_backend().synchronize();
    c_is_there_ = true;
    return report;
  }
  void analyse() override {
    DeviceFactor a(view(a_).constant(), Side::left), b(view(b_).constant(), Side::right);
    if (!one_.options.always_split) (void)DeviceFactor::samples({&a, &b});
    a.analyse(one_.cutoff.delta);
    b.analyse(one_.cutoff.delta);
    (void)a.totals();
    (void)b.totals();
  }

  const std::vector<double>& of_dgemm() override { return fetch(reference_there_, reference_); }
  const std::vector<float>& of_sgemm() override { return fetch(single_there_, single_); }
  const std::vector<double>& of_module() override { return c_is_there_ ? fetch(c_there_, c_) : c_; }

 private:
  template <class T>
  DenseView<T> view(const DeviceArray<T>& matrix) const {
    return {matrix.get(), one_.n, one_.n, one_.n, false};
  }
  template <class T>
  static void dense(DenseView<const T> a, DenseView<const T> b, DenseView<T> c) {
    dense_product_on_device(T(1), a, b, T(0), c);
    cuda_backend().synchronize();
  }
  template <class T>
  static const std::vector<T>& fetch(const DeviceArray<T>& there, std::vector<T>& to) {
    to.resize(std::size_t(there.count()));  // in place: these are large
    cuda_backend().copy_out(to.data(), there.get(), to.size() * sizeof(T));
    return to;
  }
  Gemm<double> gemm(const double* a, const double* b, double* c) const {
    const std::int64_t n = one_.n;
    return {.m = n, .n = n, .k = n, .a = a, .lda = n, .b = b, .ldb = n, .c = c, .ldc = n};
  }

  ComparedCase one_;
  DeviceArray<double> a_, b_, reference_there_, c_there_;
  DeviceArray<float> single_a_, single_b_, single_there_;
  std::vector<double> reference_, c_;
  std::vector<float> single_;
  bool c_is_there_ = false;
};

}  // namespace

std::unique_ptr<ComparedProducts> products_on_device(ComparedCase one) {
  return std::make_unique<DeviceProducts>(std::move(one));
}

}  // namespace quadrille::mgemm
