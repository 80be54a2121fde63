// The rates of the memory that a backend works on: what every kernel is measured against.
#pragma once

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"

#include <cstddef>
#include <cstdint>

namespace quadrille::bench {

/// In 10^9 bytes a second, bytes read plus bytes written by the program (what a write fetches first is not counted).
struct MemoryRates {
  double read = 0;   ///< s += a[i]
  double copy = 0;   ///< b[i] = a[i]
  double triad = 0;  ///< c[i] = a[i] + s b[i]
};

/// Measures them with all OpenMP threads on arrays of `bytes` bytes (a multiple of 512; what fits into the caches
/// measures those) in the instruction set in use, each thread in its own part, which it touched first. Reads are
/// made at one place of a thread's part and at eight in turn, writes through the caches and past them; the faster way
/// counts. On a GPU arrays have a GiB at least, which its caches are small beside.
MemoryRates memory_rates(Backend& backend, std::int64_t bytes);
QUADRILLE_DECLARE_FOR_BACKENDS(MemoryRates, memory_rates, (Backend & backend, std::int64_t bytes))

/// Numbers in the memory of a backend.
class BackendArray {
 public:
  BackendArray(Backend& backend, std::size_t bytes)
      : backend_(backend), bytes_(bytes), data_(static_cast<double*>(backend.allocate(bytes))) {}
  ~BackendArray() { backend_.release(data_, bytes_); }
  BackendArray(const BackendArray&) = delete;
  BackendArray& operator=(const BackendArray&) = delete;
  operator double*() const { return data_; }

 private:
  Backend& backend_;
  std::size_t bytes_;
  double* data_;
};

}  // namespace quadrille::bench
