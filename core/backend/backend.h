// A backend owns the memory that fields live in and the kernels that work on it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace quadrille {

class Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;
  /// At least `bytes` bytes aligned to 64, filled with 0xff (not-a-number in every floating-point format), so that a
  /// field that was never written cannot pass for one that was. Throws ErrorCode::unsupported with the bytes needed
  /// when memory runs out.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// What stays close to the cores from one kernel to the next: bytes of the last-level cache.
  virtual std::size_t cache_bytes() const = 0;
  /// Bytes asked for by fields now alive, and how many allocations there have been.
  virtual std::size_t allocated_bytes() const = 0;
  virtual std::size_t allocations() const = 0;
};

/// The backend of this name ("cpu"; "auto" is the best one present). Unknown or absent names throw
/// ErrorCode::invalid_input with those that are there.
Backend& find_backend(const std::string& name);

/// The CPU backend: always there.
Backend& cpu_backend();

}  // namespace quadrille
