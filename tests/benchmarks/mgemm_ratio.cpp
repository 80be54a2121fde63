// Measures what split products gain over cuBLAS's double precision on a GPU, and how near products through a memory cap
// come to their floor:
//
//   mgemm_ratio_cuda [n = 16384] [salt fraction = 1e-4] [repetitions = 3] [salt magnitude = 100] [form = all]
//   mgemm_ratio_cuda cleaver [n = 10048] [cap in MiB = 256] [repetitions = 3]
//
// Operands of the first are on the device; a form is a name of forms.h, "automatic" for the one that mgemm chooses, or
// "all". Times are of the whole call, with those of its steps behind. Errors are
// distances from the product in double, over 64 columns. The constants of device_cost.h come from here.
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/owned.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/mgemm/product/cuda/factor.h"
#include "modules/shared/dense/cuda/cublas.h"
#include "tests/modules/mgemm/salted.h"
#include "tests/testing/backend_under_test.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

using namespace quadrille;
using namespace quadrille::mgemm;
using cuda::DeviceArray;

double seconds(const std::function<void()>& call) {
  testing::backend().synchronize();
  const auto start = std::chrono::steady_clock::now();
  call();
  testing::backend().synchronize();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median after one call that does not count, in milliseconds.
double median(int repetitions, const std::function<void()>& call) {
  std::vector<double> times;
  call();
  for (int r = 0; r < repetitions; ++r) times.push_back(1e3 * seconds(call));
  std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(times.size() / 2), times.end());
  return times[times.size() / 2];
}

constexpr std::int64_t columns = 64;

struct Matrices {
  std::int64_t n;
  DeviceArray<double> a, b, c;

  Matrices(std::int64_t n, double fraction, double salt)
      : n(n), a(n * n, "a matrix", ""), b(n * n, "a matrix", ""), c(n * n, "a matrix", "") {
    for (const auto* m : {&a, &b}) {
      const std::vector<double> numbers = testing::salted_matrix(n * n, fraction, salt);
      testing::backend().copy_in(m->get(), numbers.data(), numbers.size() * sizeof(double));
    }
  }
  Gemm<double> gemm() const {
    Gemm<double> g;
    g.m = g.n = g.k = g.lda = g.ldb = g.ldc = n;
    g.a = a.get();
    g.b = b.get();
    g.c = c.get();
    return g;
  }
  DenseView<const double> view_a() const { return {a.get(), n, n, n, false}; }
  DenseView<const double> view_b() const { return {b.get(), n, n, n, false}; }
  DenseView<double> view_c() const { return {c.get(), n, n, n, false}; }
  void native() const { dense_product_on_device(1.0, view_a(), view_b(), 0.0, view_c()); }
  std::vector<double> result() const {
    std::vector<double> numbers(std::size_t(n * std::min(n, columns)));
    testing::backend().copy_out(numbers.data(), c.get(), numbers.size() * sizeof(double));
    return numbers;
  }
};

void print_errors(const std::vector<double>& found, const std::vector<double>& exact) {
  double most = 0, squares = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double error = std::abs(found[i] - exact[i]);
    most = std::max(most, error);
    squares += error * error;
  }
  std::printf("  error: largest %.3g, rms %.3g", most, std::sqrt(squares / double(found.size())));
}

/// cuBLAS in single precision on matrices without salt: the error that a split product should not exceed.
void single_precision(std::int64_t n, int repetitions) {
  const std::vector<double> x = testing::salted_matrix(n * n, 0, 1), y = testing::salted_matrix(n * n, 0, 1);
  const auto send = [](const auto& numbers) {
    DeviceArray<typename std::decay_t<decltype(numbers)>::value_type> there(std::int64_t(numbers.size()), "a matrix",
                                                                            "");
    testing::backend().copy_in(there.get(), numbers.data(), numbers.size() * sizeof(numbers[0]));
    return there;
  };
  const auto fa = send(std::vector<float>(x.begin(), x.end())), fb = send(std::vector<float>(y.begin(), y.end()));
  const DeviceArray<float> fc(n * n, "a matrix", "");
  const double time = median(repetitions, [&] {
    dense_product_on_device<float>(1, {fa.get(), n, n, n, false}, {fb.get(), n, n, n, false}, 0,
                                   {fc.get(), n, n, n, false});
  });
  std::vector<float> found(std::size_t(n * std::min(n, columns)));
  testing::backend().copy_out(found.data(), fc.get(), found.size() * sizeof(float));
  const auto a = send(x), b = send(y);
  const DeviceArray<double> c(n * n, "a matrix", "");
  dense_product_on_device<double>(1, {a.get(), n, n, n, false}, {b.get(), n, n, n, false}, 0,
                                  {c.get(), n, n, n, false});
  std::vector<double> exact(found.size());
  testing::backend().copy_out(exact.data(), c.get(), exact.size() * sizeof(double));
  std::printf("SGEMM without salt %9.3f ms", time);
  print_errors({found.begin(), found.end()}, exact);
  std::printf("\n");
}

/// What cuBLAS's own emulation of double precision does here: bits that were kept, -1 where it was not used.
void emulation(const Matrices& m, double native, const std::vector<double>& exact, int repetitions) {
#if CUBLAS_VERSION >= 130100
  const cublasHandle_t handle = cuda::cublas();
  const DeviceArray<int> bits(1, "a count", "");
  cublasSetEmulationStrategy(handle, CUBLAS_EMULATION_STRATEGY_EAGER);
  cublasSetFixedPointEmulationMantissaControl(handle, CUDA_EMULATION_MANTISSA_CONTROL_FIXED);
  cublasSetFixedPointEmulationMantissaBitCountPointer(handle, bits.get());
  for (int most : {23, 31, 39, 55}) {
    cublasSetFixedPointEmulationMaxMantissaBitCount(handle, most);
    const double one = 1, zero = 0;
    cublasStatus_t status = CUBLAS_STATUS_SUCCESS;
    const double time = median(repetitions, [&] {
      status = cublasGemmEx_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, m.n, m.n, m.n, &one, m.a.get(), CUDA_R_64F, m.n,
                               m.b.get(), CUDA_R_64F, m.n, &zero, m.c.get(), CUDA_R_64F, m.n,
                               CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT, CUBLAS_GEMM_DEFAULT);
    });
    int kept = 0;
    testing::backend().copy_out(&kept, bits.get(), sizeof kept);
    std::printf("cuBLAS fixed point, at most %d bits: %s, kept %d, %.3f ms, ratio %.2f", most,
                cublasGetStatusName(status), kept, time, native / time);
    print_errors(m.result(), exact);
    std::printf("\n");
  }
  cublasSetFixedPointEmulationMantissaBitCountPointer(handle, nullptr);
  cublasSetFixedPointEmulationMaxMantissaBitCount(handle, 0);
  cublasSetEmulationStrategy(handle, CUBLAS_EMULATION_STRATEGY_DEFAULT);
#else
  (void)m, (void)native, (void)exact, (void)repetitions;
#endif
}

void steps(const Matrices& m, const FormTraits& form, int repetitions) {
  DeviceFactor a(m.view_a(), Side::left), b(m.view_b(), Side::right);
  const double analysis = median(repetitions, [&] {
    a.analyse(1);
    b.analyse(1);
  });
  a.totals();
  b.totals();
  const double conversion = median(repetitions, [&] {
    a.convert(form);
    b.convert(form);
  });
  const double products = median(repetitions, [&] {
    multiply_converted(1, {&a, 0, m.n}, {&b, 0, m.n}, 0, m.view_c(), usual_depth(form));
  });
  const LargeLines large_a = a.large(0), large_b = b.large(0);
  const double left = median(repetitions, [&] { add_multiplied_left(1, large_a, m.view_b(), m.view_c()); });
  const double right =
      median(repetitions, [&] { merge_and_multiply_right(1, {}, m.view_a(), 1, large_b, 1, m.view_c()); });
  std::printf("    analysis %.3f, conversion %.3f, products %.3f, of them A_L B %.3f and A_S B_L %.3f ms\n", analysis,
              conversion, products, left, right);
}

void split(std::int64_t n, double fraction, int repetitions, double salt, const std::string& wanted) {
  if (wanted != "all") (void)form_named(wanted);  // an unknown name ends here
  single_precision(n, repetitions);
  const Matrices m(n, fraction, salt);
  const double native = median(repetitions, [&] { m.native(); });
  const std::vector<double> exact = m.result();
  const double flops = 2 * double(n) * double(n) * double(n);
  std::printf("n = %lld, salt %g of magnitude %g: DGEMM %.3f ms, %.1f TFLOP/s\n", (long long)n, fraction, salt, native,
              1e-9 * flops / native);
  const auto run = [&](const MgemmOptions& options, const std::string& name) {
    MgemmReport report;
    const double time = median(repetitions, [&] { report = mgemm_on_device(m.gemm(), Cutoff::at(1), options); });
    std::printf("%-14s %9.3f ms, ratio %.2f (expected %.2f)", name.c_str(), time, native / time,
                report.expected_speedup);
    print_errors(m.result(), exact);
    std::printf(", bound %.3g; %s\n", report.bound, report.reason.c_str());
  };
  run({}, "as chosen");
  for (const FormTraits& form : all_forms()) {
    if (wanted != "all" && wanted != form.name) continue;
    MgemmOptions options;
    options.always_split = true;
    options.small_form = form.form;
    run(options, form.name);
    steps(m, form, repetitions);
  }
  if (wanted == "all") emulation(m, native, exact, repetitions);
}

void cleaver_times(std::int64_t n, std::int64_t cap, int repetitions) {
  std::vector<double> a = testing::salted_matrix(n * n, 0, 1), b = testing::salted_matrix(n * n, 0, 1), c(a.size());
  Gemm<double> gemm;
  gemm.m = gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = n;
  gemm.a = a.data();
  gemm.b = b.data();
  gemm.c = c.data();
  const std::int64_t total = n * n;
  const cuda::PinnedMemory pinned =
      cuda::make_pinned(std::size_t(total) * sizeof(double), cudaHostAllocDefault, "a matrix");
  const DeviceArray<double> there(total, "a matrix", ""), product(total, "a matrix", "");
  const double link = median(repetitions, [&] {
    QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(there.get(), pinned.get(), std::size_t(total) * sizeof(double),
                                         cudaMemcpyHostToDevice, cuda::stream()));
  });
  const double rate = double(total) * 8 / link * 1e3;
  const double native = median(repetitions, [&] {
    dense_product_on_device<double>(1, {there.get(), n, n, n, false}, {there.get(), n, n, n, false}, 0,
                                    {there.get(), n, n, n, false});
  });
  const double size = double(n), bytes = 16 * size * size * size / std::sqrt(double(cap) / 8) + 8 * size * size;
  const double floor = std::max(native, 1e3 * bytes / rate);
  std::printf("n = %lld, cap %lld bytes: DGEMM %.2f ms, link %.1f GB/s, floor %.2f ms\n", (long long)n, (long long)cap,
              native, 1e-9 * rate, floor);
  const Operands<double> operands = check_arguments(gemm);
  const auto run = [&](const char* name) {
    CleaverReport report;
    const double time = median(repetitions, [&] { report = multiply_panels_on_device(operands, cap); });
    std::printf("%s: %.2f ms, %.0f %% of the floor's rate; %lld steps, %.2f GB moved\n", name, time, 100 * floor / time,
                (long long)report.steps, 1e-9 * double(report.staged_bytes));
  };
  run("pageable");
  for (auto* x : {&a, &b, &c}) {
    QUADRILLE_CUDA_CHECK(cudaHostRegister(x->data(), x->size() * sizeof(double), cudaHostRegisterDefault));
  }
  run("pinned");
  for (auto* x : {&a, &b, &c}) QUADRILLE_CUDA_CHECK(cudaHostUnregister(x->data()));
}

}  // namespace

int main(int argc, char** argv) {
  const bool cleaver = argc > 1 && std::strcmp(argv[1], "cleaver") == 0;
  const auto argument = [&](int number, double otherwise) {
    const int place = number + (cleaver ? 1 : 0);
    return argc > place ? std::atof(argv[place]) : otherwise;
  };
  if (cleaver) {
    cleaver_times(std::int64_t(argument(1, 10048)), std::int64_t(argument(2, 256)) << 20, int(argument(3, 3)));
  } else {
    split(std::int64_t(argument(1, 16384)), argument(2, 1e-4), int(argument(3, 3)), argument(4, 100),
          argc > 5 ? argv[5] : "all");
  }
  return 0;
}
