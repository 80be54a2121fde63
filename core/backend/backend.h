// A backend owns the memory that fields live in and the kernels that work on it.
#pragma once

#include "core/api.h"
#include "core/blas/op_table.h"
#include "core/layout/layout.h"
#include "core/precision.h"

#include <cstddef>
#include <string>

namespace quadrille {

class Field;
class Lattice;

namespace blas {
struct Call;
}

class QUADRILLE_API Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;
  /// What the kernels of fields in this layout were compiled for: "avx2", "sm_90".
  virtual std::string architecture(const Layout& layout, Precision precision) const = 0;
  /// The machine's name for what computes: "NVIDIA H200"; "the CPU".
  virtual std::string device() const = 0;
  /// The layout of the fields that this backend makes.
  virtual Layout layout(const Lattice& lattice, Precision precision) const = 0;
  /// Whether host code may read and write the memory. If not, calls below return before their work is done; it is done
  /// in the order of the calls, and what gives a result to the host waits for it.
  virtual bool host_memory() const = 0;

  /// At least `bytes` bytes aligned to 64, filled with 0xff (not-a-number in every floating-point format), so that a
  /// field that was never written cannot pass for one that was. Throws ErrorCode::unsupported with the bytes needed
  /// when memory runs out.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Copy between this backend's memory and ordinary memory; both wait until the bytes are there.
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* from, std::size_t bytes) = 0;
  /// Returns when everything asked for so far is done.
  virtual void synchronize() = 0;

  /// dst = src, spinors of one lattice and subset in any two precisions. dst is overwritten.
  virtual void convert(Field& dst, const Field& src) = 0;
  /// The same with dst(x) = g(x) src(x), or g(x)^+ src(x): `g` is a field of one link a site in double with 18 numbers.
  virtual void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) = 0;
  /// One fused operation of field algebra, and its sums (core/blas/call.h).
  virtual blas::Sums run(const blas::Call& call) = 0;

  /// What stays close to the cores from one kernel to the next: bytes of the last-level cache.
  virtual std::size_t cache_bytes() const = 0;
  /// Bytes asked for by fields now alive, and how many allocations there have been.
  virtual std::size_t allocated_bytes() const = 0;
  virtual std::size_t allocations() const = 0;
};

/// The backend of this name ("cpu", "cuda"; "auto" is cuda where a GPU answers, cpu elsewhere). Throws
/// ErrorCode::invalid_input for an unknown name, with the known ones, and ErrorCode::unsupported with the reason for
/// one that this build or this machine has not.
QUADRILLE_API Backend& find_backend(const std::string& name);

/// Why the backend of this name cannot be used here; empty when it can.
QUADRILLE_API std::string backend_trouble(const std::string& name);

/// The CPU backend: always there.
QUADRILLE_API Backend& cpu_backend();

}  // namespace quadrille
