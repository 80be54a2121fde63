// An error that is thrown later than it happens.
#pragma once

#include <exception>
#include <utility>

namespace quadrille {

/// The first error of several steps: those after it are left out, until it is thrown.
class KeptError {
 public:
  /// Calls step() unless one before has failed.
  template <class Step>
  void keep(Step&& step) {
    if (error_) return;
    try {
      step();
    } catch (...) {
      error_ = std::current_exception();
    }
  }
  /// Throws the error, if there is one, and forgets it.
  void rethrow() {
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }
  /// Throws it, and keeps it: every later call throws it again.
  void check() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::exception_ptr error_;
};

}  // namespace quadrille
