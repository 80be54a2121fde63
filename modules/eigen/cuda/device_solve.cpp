// The eigenproblem on one GPU.
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/eigen/cuda/arrival.h"
#include "modules/eigen/cuda/band/band.h"
#include "modules/eigen/cuda/chain.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/standard_form.h"
#include "modules/eigen/cuda/triangles.h"
#include "modules/eigen/device.h"
#include "modules/eigen/device_needs.h"
#include "modules/eigen/phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace quadrille::eigen {
namespace {

/// A matrix of the host in the device's memory with its lower half filled, divided by 2^exponent so that its largest
/// element is about 1.
template <class T>
struct Matrix {
  cuda::DeviceArray<There<T>> elements;
  int exponent = 0;
};

/// Divides the lower half by a power of 4. `given`: the half that the caller has, in which an element is named that is
/// not finite.
template <class Number>
int scale_to_one(std::int64_t n, Number* a, const std::string& name, Triangle given = Triangle::lower) {
  const double largest = largest_of_lower(n, n, a, n);
  if (!std::isfinite(largest)) {
    const std::int64_t place = first_not_finite(n, n, a, n);
    refuse_element(name, place % n, place / n, given);
  }
  const int exponent = even_exponent(largest);
  divide_lower_half(n, n, a, n, exponent);
  return exponent;
}

template <class T>
Matrix<T> sent_matrix(std::int64_t n, const T* a, std::int64_t lda, Triangle triangle, const std::string& name) {
  Matrix<T> out{device_array<There<T>>(n * n)};
  send_columns(n, n, a, lda, out.elements.get());
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
  return chain_bytes<T>(n, fraction, fraction.most(n), (factor_too ? 2 : 1) * sizeof(T) * double(n) * double(n),
                        band_bytes<There<T>>(n));
}

template <class T>
void require_device(std::int64_t n, const Fraction& fraction, bool factor_too) {
  require_limits<T>(n, {processors(), shared_memory_limit()});
  require_device_memory(device_bytes<T>(n, fraction, factor_too),
                        fmt::format("the eigenproblem of {} rows with {} vectors", n, fraction.most(n)),
                        fraction.kind() == Fraction::Kind::none ? "use --backend cpu" : without_vectors);
}

namespace {

template <class T>
void check_problem(const DeviceProblem<T>& problem) {
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
}

/// count_known: told the number of vectors as soon as it is known.
template <class T>
ChainEnd<T> solve_there(const DeviceProblem<T>& problem, std::function<void(std::int64_t)> count_known) {
  check_problem(problem);
  const std::int64_t n = problem.n;
  const Matrix<T> a = sent_matrix(n, problem.a, problem.lda, problem.triangle, "A");
  There<T>* const there = a.elements.get();
  const Matrix<T>* const factor = problem.b != nullptr ? &problem.b->data().l : nullptr;
  Chain<T> chain{.n = n, .fraction = problem.fraction, .progress = problem.progress, .exponent = a.exponent};
  chain.to_band = [&] {
    fill_upper_half(n, there, n);
    return reduce_to_band(n, there, n);
  };
  chain.share = [](IndexRange wanted) { return wanted; };
  chain.apply_q1 = [&](const There<T>* tau, There<T>* x, std::int64_t count) {
    apply_q1(n, there, n, tau, x, n, count);
  };
  chain.count_known = std::move(count_known);
  if (factor != nullptr) {
    chain.to_standard = [&] {
      to_standard_form(n, there, n, factor->elements.get(), n);
      return scale_to_one(n, there, "L^-1 A L^-H") - factor->exponent;
    };
    chain.to_general = [&](There<T>* x, std::int64_t count) {
      to_general_vectors(n, factor->elements.get(), n, x, n, count);
    };
    chain.scale = std::ldexp(1.0, -factor->exponent / 2);
  }
  return run_chain(chain);
}

}  // namespace

template <class T>
Pairs<T> solve_on_device(const DeviceProblem<T>& problem) {
  RoomOfHost<T> room;
  ChainEnd<T> end = solve_there<T>(problem, [&](std::int64_t count) { room.begin(problem.n * count); });
  std::vector<T> vectors = room.take();
  if (vectors.empty()) return std::move(end.found);
  cuda_backend().copy_out(vectors.data(), end.vectors.get(), vectors.size() * sizeof(T));
  end.found.vectors = std::move(vectors);
  return std::move(end.found);
}

template <class T>
PairsThere<T> solve_and_stay(const DeviceProblem<T>& problem) {
  ChainEnd<T> end = solve_there<T>(problem, [](std::int64_t) {});
  if (end.vectors.get() == nullptr) return {std::move(end.found), nullptr};
  const auto owner = std::make_shared<cuda::DeviceArray<There<T>>>(std::move(end.vectors));
  return {std::move(end.found), std::shared_ptr<T>(owner, reinterpret_cast<T*>(owner->get()))};
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
