// Numbers of a test in the device's memory, and products whose operands are there.
#pragma once

#include "modules/mgemm/product/arguments.h"
#include "tests/modules/mgemm/problem.h"
#include "tests/testing/backend_under_test.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quadrille::testing {

template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& numbers) : OnDevice(numbers.size()) { send(numbers); }
  explicit OnDevice(std::size_t count)
      : count_(count), memory_(static_cast<T*>(backend().allocate(std::max<std::size_t>(1, bytes())))) {}
  ~OnDevice() { backend().release(memory_, std::max<std::size_t>(1, bytes())); }
  OnDevice(const OnDevice&) = delete;

  T* get() const { return memory_; }
  void send(const std::vector<T>& numbers) {
    if (count_ > 0) backend().copy_in(memory_, numbers.data(), bytes());
  }
  std::vector<T> numbers() const {
    std::vector<T> result(count_);
    if (count_ > 0) backend().copy_out(result.data(), memory_, bytes());
    return result;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(T); }
  std::size_t count_;
  T* memory_;
};

/// The operands of a problem on the device; run() multiplies there and puts the result into the problem's C.
class DeviceProblem {
 public:
  explicit DeviceProblem(Problem<double>& problem) : problem_(problem), a_(problem.a), b_(problem.b), c_(problem.c) {}

  mgemm::Gemm<double> gemm() const {
    mgemm::Gemm<double> there = problem_.gemm;
    there.a = a_.get();
    there.b = b_.get();
    there.c = c_.get();
    return there;
  }
  /// multiply(gemm) with C as it was in the beginning.
  template <class Multiply>
  auto run(Multiply multiply) {
    c_.send(problem_.before);
    const auto report = multiply(gemm());
    const std::vector<double> result = c_.numbers();
    std::copy(result.begin(), result.end(), problem_.c.begin());  // the gemm points to where C is
    return report;
  }

 private:
  Problem<double>& problem_;
  OnDevice<double> a_, b_, c_;
};

}  // namespace quadrille::testing
