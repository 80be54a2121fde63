// The chain of phases on the device.
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/cuda/apply_q2.h"
#include "modules/eigen/cuda/band.h"
#include "modules/eigen/cuda/divide/divide.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/normalize.h"
#include "modules/eigen/cuda/standard_form.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/phases.h"
#include "modules/eigen/triangle.h"
#include "modules/shared/dense/cuda/host_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

template <class T>
using There = std::conditional_t<is_complex<T>, Complex, double>;

/// A matrix of the host in the device's memory with its lower half filled, divided by 2^exponent so that its largest
/// element is about 1.
template <class T>
struct Matrix {
  cuda::DeviceArray<There<T>> elements;
  int exponent = 0;
};

/// Divides the lower half by a power of 4, so that its square root divides vectors without rounding. `given`: the half
/// that the caller has, in which an element is named that is not finite.
template <class Number>
int scale_to_one(std::int64_t n, Number* a, const std::string& name, Triangle given = Triangle::lower) {
  const double largest = largest_of_lower(n, a, n);
  if (!std::isfinite(largest)) {
    const std::int64_t place = first_not_finite(n, a, n);
    std::int64_t row = place % n + 1, column = place / n + 1;
    if (given == Triangle::upper) std::swap(row, column);
    throw Error(ErrorCode::numerical,
                fmt::format("{}: the element in row {}, column {} is not finite", name, row, column));
  }
  if (largest == 0) return 0;
  const int exponent = std::ilogb(largest) / 2 * 2;
  if (exponent == 0) return 0;
  // In two steps: 2^-exponent itself may be out of range.
  scale_lower_half(n, a, n, std::ldexp(1.0, -exponent / 2));
  scale_lower_half(n, a, n, std::ldexp(1.0, -exponent / 2));
  return exponent;
}

bool is_on_device(const void* a) {
  cudaPointerAttributes attributes{};
  QUADRILLE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, a));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

/// Copies an n x n matrix, from the host through pinned buffers; it has arrived when this returns.
template <class T>
void send(std::int64_t n, const T* a, std::int64_t lda, There<T>* to) {
  constexpr std::int64_t parts = sizeof(T) / sizeof(double);
  if (is_on_device(a)) {
    return copy_columns(n, n, reinterpret_cast<const There<T>*>(a), lda, to, n);
  }
  cuda::HostLink link;
  cuda::pass(cuda::make_event(), cuda::stream(), link.up());
  link.send(DenseView<const double>{reinterpret_cast<const double*>(a), parts * n, n, parts * lda, false},
            reinterpret_cast<double*>(to));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(link.up()));
}

template <class T>
Matrix<T> sent_matrix(std::int64_t n, const T* a, std::int64_t lda, Triangle triangle, const std::string& name) {
  Matrix<T> out{device_array<There<T>>(n * n)};
  send(n, a, lda, out.elements.get());
  if (triangle == Triangle::upper) fill_lower_half(n, out.elements.get(), n);
  out.exponent = scale_to_one(n, out.elements.get(), name, triangle);
  return out;
}

template <class T>
void check_sizes(std::int64_t n, std::int64_t ld, const char* name) {
  if (n < 1) throw Error(ErrorCode::invalid_input, fmt::format("{} has {} rows: it must have at least 1", name, n));
  if (ld < n) {
    throw Error(
        ErrorCode::invalid_input,
        fmt::format("the leading dimension of {} is {}: it must be at least the number of rows, {}", name, ld, n));
  }
}

void require_device_memory(double bytes, const std::string& what, const char* advice) {
  const double free = double(cuda::available_bytes());
  if (bytes <= free) return;
  throw NotEnoughMemory(fmt::format("not enough memory: {} on one GPU needs {}, {} are free there; {}", what,
                                    bytes_text(bytes), bytes_text(free), advice));
}

/// The diagonal and the one beside it of what chase_bulges() leaves.
template <class Number>
std::pair<std::vector<double>, std::vector<double>> tridiagonal_of(std::int64_t n, const Number* band) {
  constexpr std::size_t row = sizeof(Number) * 2 * bandwidth;
  std::vector<Number> pairs(std::size_t(2 * n));
  QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(pairs.data(), 2 * sizeof(Number), band, row, 2 * sizeof(Number),
                                         std::size_t(n), cudaMemcpyDeviceToHost, cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
  std::pair<std::vector<double>, std::vector<double>> out;
  for (std::size_t i = 0; i < std::size_t(n); ++i) {
    out.first.push_back(real(pairs[2 * i]));
    if (i + 1 < std::size_t(n)) out.second.push_back(real(pairs[2 * i + 1]));
  }
  return out;
}

/// Waits, so that a phase's time is its own.
void finish() { QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream())); }

template <class Number>
cuda::DeviceArray<Number> as_numbers(std::int64_t count, cuda::DeviceArray<double> real_numbers) {
  if constexpr (std::is_same_v<Number, double>) {
    return real_numbers;
  } else {
    auto out = device_array<Number>(count);
    widen(count, real_numbers.get(), out.get());
    return out;
  }
}

}  // namespace

template <class T>
struct DeviceFactor<T>::Data {
  std::int64_t n;
  Matrix<T> l;  ///< B is 2^exponent L L^H
  Phase made;
  int device;
};

template <class T>
DeviceFactor<T>::DeviceFactor(std::int64_t n, const T* b, std::int64_t ldb, Triangle triangle,
                              const std::string& name) {
  check_sizes<T>(n, ldb, name.c_str());
  require_limits<T>(n, {processors(), shared_memory_limit()});
  require_device_memory(double(n) * double(n) * sizeof(T), fmt::format("the Cholesky factor of {} rows", n),
                        "use --backend cpu");
  data_ = std::make_unique<Data>(Data{n, sent_matrix(n, b, ldb, triangle, name), {}, current_device()});
  Phases phases({}, 0);
  phases.run(phase::cholesky, cube<T>(n, 1.0 / 3), [&] {
    const std::int64_t minor = factor_cholesky(n, data_->l.elements.get(), n);
    if (minor == 0) return;
    throw Error(ErrorCode::numerical,
                fmt::format("{} is not positive definite: its leading {} x {} submatrix is not", name, minor, minor));
  });
  data_->made = phases.take().front();
}
template <class T>
DeviceFactor<T>::~DeviceFactor() = default;
template <class T>
DeviceFactor<T>::DeviceFactor(DeviceFactor&&) noexcept = default;
template <class T>
std::int64_t DeviceFactor<T>::n() const {
  return data_->n;
}
template <class T>
const Phase& DeviceFactor<T>::made() const {
  return data_->made;
}

template <class T>
double device_bytes(std::int64_t n, const Fraction& fraction, bool factor_too) {
  const double square = double(n) * double(n), number = sizeof(T);
  const double a = (factor_too ? 2 : 1) * number * square, bulges = number * double(2 * bandwidth * n);
  if (fraction.kind() == Fraction::Kind::none) return a + bulges + band_bytes<There<T>>(n);
  const double reflections = number * double(diamond_base(n, groups_of(n))) * bandwidth * (bandwidth + 1);
  const double vectors = number * double(n) * double(fraction.most(n));
  const double dividing = sizeof(double) * (2 * square + double(n) * 2100);
  const double transforming = sizeof(double) * square + (is_complex<T> ? vectors : 0) + reflections;
  return a + bulges + std::max(band_bytes<There<T>>(n), reflections + std::max(dividing, transforming));
}

template <class T>
void require_device(std::int64_t n, const Fraction& fraction, bool factor_too) {
  require_limits<T>(n, {processors(), shared_memory_limit()});
  require_device_memory(device_bytes<T>(n, fraction, factor_too),
                        fmt::format("the eigenproblem of {} rows with {} vectors", n, fraction.most(n)),
                        fraction.kind() == Fraction::Kind::none ? "use --backend cpu" : without_vectors);
}

namespace {

/// What solve_there() leaves.
template <class T>
struct Left {
  Pairs<T> found;
  cuda::DeviceArray<There<T>> vectors;
};

/// count_known: told the number of vectors as soon as it is known.
template <class T>
Left<T> solve_there(const DeviceProblem<T>& problem, const std::function<void(std::int64_t)>& count_known) {
  const std::int64_t n = problem.n;
  check_sizes<T>(n, problem.lda, "A");
  if (problem.b != nullptr && problem.b->n() != n) {
    throw Error(ErrorCode::invalid_input, fmt::format("A has {} rows, but B has {}", n, problem.b->n()));
  }
  if (problem.b != nullptr && problem.b->data().device != current_device()) {
    throw Error(ErrorCode::invalid_input, fmt::format("the factor of B is on GPU {}, and the current one is GPU {}",
                                                      problem.b->data().device, current_device()));
  }
  problem.fraction.check(n);
  require_device<T>(n, problem.fraction, false);
  const Fraction::Kind kind = problem.fraction.kind();
  const bool with_vectors = kind != Fraction::Kind::none;
  const std::int64_t most = problem.fraction.most(n);
  Pairs<T> out;
  out.n = n;
  const bool count_is_known = kind == Fraction::Kind::all || kind == Fraction::Kind::range;
  if (count_is_known) count_known(most);
  const double share = double(most) / double(n);
  Phases phases(problem.progress,
                cube<T>(n, (problem.b != nullptr ? 1 + share : 0) + 4.0 / 3 + 2 * share) + 4.0 / 3 * share);
  Matrix<T> a = sent_matrix(n, problem.a, problem.lda, problem.triangle, "A");
  int exponent = a.exponent;
  There<T>* const there = a.elements.get();
  const auto* const factor = problem.b != nullptr ? &problem.b->data().l : nullptr;
  if (factor != nullptr) {
    phases.run(phase::standard_form, cube<T>(n, 1), [&] {
      to_standard_form(n, there, n, factor->elements.get(), n);
      finish();
    });
    exponent += scale_to_one(n, there, "L^-1 A L^-H") - factor->exponent;
  }
  fill_upper(n, there, n);
  Band<There<T>> band;
  phases.run(phase::band, cube<T>(n, 4.0 / 3), [&] {
    band = reduce_to_band(n, there, n);
    finish();
  });
  const std::int64_t diamonds = diamond_base(n, groups_of(n));
  cuda::DeviceArray<There<T>> v, tau;
  std::pair<std::vector<double>, std::vector<double>> t;
  phases.run(phase::bulge_chasing, 0, [&] {
    if (with_vectors) {
      v = zeros<There<T>>(diamonds * bandwidth * bandwidth);
      tau = zeros<There<T>>(diamonds * bandwidth);
    }
    const auto progress = zeros<int>(n + 1);
    if (n > 1) {
      chase_bulges(Bulge<There<T>>{band.band.get(), int(n), v.get(), tau.get(), progress.get(), progress.get() + n});
    }
    t = tridiagonal_of(n, band.band.get());
  });
  band.band.reset();
  if (!with_vectors) {
    phases.run(phase::tridiagonal, 0, [&] { out.spectrum = tridiagonal_values(t.first, t.second); });
    out.tridiagonal_form = "bisection";
    scale_back(out.spectrum, exponent);
    out.values = out.spectrum;
    out.range = {0, n};
    out.phases = phases.take();
    return {std::move(out), {}};
  }
  TridiagonalVectors pairs;
  phases.run(phase::tridiagonal, 4.0 / 3 * double(n) * double(n) * double(n), [&] {
    pairs = divide_and_conquer(std::move(t.first), std::move(t.second), [&](std::vector<double> values) {
      scale_back(values, exponent);
      out.range = problem.fraction.among(values);
      out.spectrum = std::move(values);
      return std::pair(out.range.first, out.range.count);
    });
    finish();
  });
  out.tridiagonal_form = "divide and conquer";
  const std::int64_t count = out.range.count;
  if (!count_is_known) count_known(count);
  const double part = double(count) / double(n);
  out.values.assign(out.spectrum.begin() + out.range.first, out.spectrum.begin() + out.range.first + count);
  auto x = as_numbers<There<T>>(n * count, std::move(pairs.vectors));
  phases.run(phase::back_to_band, cube<T>(n, 2 * part), [&] {
    apply_q2(n, v.get(), tau.get(), x.get(), n, count);
    finish();
  });
  v.reset();
  phases.run(phase::back_to_standard, cube<T>(n, 2 * part), [&] {
    apply_q1(n, there, n, band.tau.get(), x.get(), n, count);
    finish();
  });
  if (factor != nullptr) {
    phases.run(phase::back_to_general, cube<T>(n, part), [&] {
      to_general_vectors(n, factor->elements.get(), n, x.get(), n, count);
      finish();
    });
  }
  phases.run(phase::normalization, 0, [&] {
    normalize_vectors(n, count, x.get(), n, factor != nullptr ? std::ldexp(1.0, -factor->exponent / 2) : 1.0);
    finish();
  });
  out.phases = phases.take();
  return {std::move(out), std::move(x)};
}

}  // namespace

template <class T>
Pairs<T> solve_on_device(const DeviceProblem<T>& problem) {
  // Pages of the host come slowly: room for vectors is made while the device works.
  std::vector<T> vectors;
  std::future<void> room;
  Left<T> left = solve_there<T>(problem, [&](std::int64_t count) {
    room = std::async(std::launch::async | std::launch::deferred,
                      [&vectors, numbers = problem.n * count] { vectors.resize(std::size_t(numbers)); });
  });
  if (!room.valid()) return std::move(left.found);
  room.get();
  cuda_backend().copy_out(vectors.data(), left.vectors.get(), vectors.size() * sizeof(T));
  left.found.vectors = std::move(vectors);
  return std::move(left.found);
}

template <class T>
PairsThere<T> solve_and_stay(const DeviceProblem<T>& problem) {
  Left<T> left = solve_there<T>(problem, [](std::int64_t) {});
  if (left.vectors.get() == nullptr) return {std::move(left.found), nullptr};
  const auto owner = std::make_shared<cuda::DeviceArray<There<T>>>(std::move(left.vectors));
  return {std::move(left.found), std::shared_ptr<T>(owner, reinterpret_cast<T*>(owner->get()))};
}

template <class T>
void copy_columns(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld_from, T* to,
                  std::int64_t ld_to) {
  if (rows == 0 || columns == 0) return;
  const std::size_t bytes = std::size_t(rows) * sizeof(T), step = sizeof(T);
  QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(to, std::size_t(ld_to) * step, from, std::size_t(ld_from) * step, bytes,
                                         std::size_t(columns), cudaMemcpyDefault, cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
}

template class DeviceFactor<double>;
template class DeviceFactor<std::complex<double>>;
template double device_bytes<double>(std::int64_t, const Fraction&, bool);
template double device_bytes<std::complex<double>>(std::int64_t, const Fraction&, bool);
template void require_device<double>(std::int64_t, const Fraction&, bool);
template void require_device<std::complex<double>>(std::int64_t, const Fraction&, bool);
template Pairs<double> solve_on_device(const DeviceProblem<double>&);
template Pairs<std::complex<double>> solve_on_device(const DeviceProblem<std::complex<double>>&);
template void copy_columns(std::int64_t, std::int64_t, const double*, std::int64_t, double*, std::int64_t);
template void copy_columns(std::int64_t, std::int64_t, const std::complex<double>*, std::int64_t, std::complex<double>*,
                           std::int64_t);
template PairsThere<double> solve_and_stay(const DeviceProblem<double>&);
template PairsThere<std::complex<double>> solve_and_stay(const DeviceProblem<std::complex<double>>&);

}  // namespace quadrille::eigen
