// A file of HDF5 whose bytes go into an AtomicFile.
#pragma once

#include "core/kept_error.h"
#include "core/system/atomic_file.h"

#include <cstdint>

namespace quadrille {

/// libhdf5 cannot close a file whose last bytes it cannot write, and crashes when the program ends. So it is told that
/// all writes succeed; after the first one that does not, the rest is dropped, and check() throws.
class Hdf5Sink {
 public:
  /// `target` must be positional, and outlives it.
  explicit Hdf5Sink(AtomicFile& target) : target_(target) {}
  Hdf5Sink(const Hdf5Sink&) = delete;
  Hdf5Sink& operator=(const Hdf5Sink&) = delete;

  /// A new file of HDF5, which must be closed before the sink ends: a hid_t, negative where HDF5 refuses it.
  std::int64_t create();
  /// Room for all that HDF5 has allocated in `file` so far. Errors: those of AtomicFile::reserve.
  void reserve(std::int64_t file);
  /// Throws the error of the first write that failed.
  void check() const { error_.check(); }

 private:
  struct Driver;  // the functions that HDF5 calls

  AtomicFile& target_;
  std::uint64_t end_ = 0;  ///< of the file as it is
  KeptError error_;
};

}  // namespace quadrille
