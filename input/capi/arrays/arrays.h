// A host's arrays of links and spinors, as words describe them, on their way to and from fields.
#pragma once

#include "core/backend/backend.h"
#include "core/field/field.h"
#include "core/field/foreign_spinors.h"
#include "core/gauge/gauge_store.h"
#include "core/parameters/parameters.h"
#include "dirac/clover/foreign_blocks.h"
#include "dirac/dirac_operator.h"
#include "input/capi/arrays/openqcd_faces.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::capi {

/// Memory of a backend.
class BackendArray {
 public:
  BackendArray(Backend& backend, std::size_t bytes)
      : backend_(backend), bytes_(bytes), memory_(static_cast<std::byte*>(backend.allocate(bytes))) {}
  ~BackendArray() { backend_.release(memory_, bytes_); }
  BackendArray(const BackendArray&) = delete;
  BackendArray& operator=(const BackendArray&) = delete;
  std::byte* get() const { return memory_; }

 private:
  Backend& backend_;
  std::size_t bytes_;
  std::byte* memory_;
};

/// Arrays that a call is given, and the stream that those on a device are ready on.
struct Given {
  Backend& backend;
  void* stream = nullptr;
};

/// One array where kernels of the backend reach it: itself, or a copy in the backend's memory.
class Reached {
 public:
  enum class Copy { none, in };
  Reached(Backend& backend, const void* array, std::size_t bytes, bool on_device, Copy copy);
  std::byte* get() const { return copy_ ? copy_->get() : array_; }
  /// What was written there goes to the array.
  void copy_out() const;

 private:
  Backend& backend_;
  std::byte* array_;
  std::size_t bytes_;
  std::unique_ptr<BackendArray> copy_;
};

/// What words say of all arrays, links or spinors: the size of their numbers, and where they lie.
class ArrayWords {
 public:
  /// Throws ErrorCode::unsupported for arrays on a device without the CUDA backend.
  ArrayWords(const Parameters& words, const Given& given);

  int bits() const { return bits_; }
  bool on_device() const { return on_device_; }
  Backend& backend() const { return given_.backend; }
  /// Throws ErrorCode::invalid_input, naming the array, unless arrays[0 .. count) are `count` pointers to where the
  /// words say, aligned to their numbers.
  void check(const void* const* arrays, std::size_t count, const std::string& what) const;
  /// The same of one array `name`, of numbers of `number_bytes` bytes, which must be on the device or must not be.
  void check(const void* array, const std::string& name, std::size_t number_bytes, bool on_device) const;
  /// Throws ErrorCode::invalid_input unless `bytes` of the words, when given, is `needed`.
  static void check_bytes(const Parameters& words, std::size_t needed);
  /// Work on the arrays begins when they are ready.
  void wait() const;
  Reached reached(const void* array, std::size_t bytes, Reached::Copy copy) const {
    return {given_.backend, array, bytes, on_device_, copy};
  }

 private:
  Given given_;
  int bits_;
  bool on_device_;
};

/// openQCD's ipt in memory of the backend.
using Points = std::shared_ptr<const BackendArray>;

/// Links of a lattice in a host's arrays, or of the part that this rank has. Reads and writes nothing else.
class LinkArrays {
 public:
  /// `words` resolved from links_table() or new_links_table(). Throws ErrorCode::invalid_input for arrays that do not
  /// fit them; ErrorCode::unsupported for openQCD's on several ranks in the memory of a device.
  LinkArrays(const Parameters& words, const Lattice& lattice, const void* const* arrays, std::size_t count,
             const Given& given);

  /// Sets all links. Throws ErrorCode::numerical, naming the worst link, for links that are not in SU(3) to
  /// link_tolerance(bits); the field holds them all the same. Collective.
  void read_into(GaugeStore& store) const;
  /// Overwrites the arrays. Collective.
  void write_from(const GaugeStore& store) const;
  /// Null unless the order is openqcd.
  const Points& points() const { return points_; }

 private:
  static void demand_part(const Parameters& words, const Dims& dims);
  void take_points(const int* points);
  void undo_factors(const Parameters& words);
  void demand_su3(const Unitarity& found) const;
  /// The layout with its arrays where the backend reaches them.
  template <class Work>
  void with_layout(Reached::Copy copy, const Work& work) const;

  ArrayWords words_;
  const Lattice& lattice_;
  ForeignLinks layout_{};
  std::vector<std::byte*> arrays_;
  std::size_t array_bytes_ = 0;
  std::int64_t between_mu_ = 0;  ///< bytes in one array from the links of a direction to those of the next
  Points points_;
  std::unique_ptr<OpenQcdFaces> faces_;  ///< of openQCD's arrays on several ranks
};

/// The clover term of a lattice in a host's array, or of the part that this rank has.
class CloverArray {
 public:
  /// `words` resolved from clover_table(); `kappa`: of the operator. Throws ErrorCode::invalid_input for an array that
  /// does not fit them.
  CloverArray(const Parameters& words, const Lattice& lattice, const void* array, double kappa, const Given& given);

  /// For an operator with a clover term: DiracOperator::take_site_matrices. Collective.
  void read_into(const DiracOperator& dirac) const;

 private:
  ArrayWords words_;
  ForeignBlocks layout_{};
  const void* array_;
  std::size_t bytes_;
};

/// How a host lays out spinor fields.
class SpinorArrays {
 public:
  /// `words` resolved from spinors_table() or solve_table(); `points`: of the gauge field, or null; `kappa`: of the
  /// operator. Throws ErrorCode::invalid_input for a number of bytes that is given and wrong, and for
  /// `sites: openqcd` without points.
  SpinorArrays(const Parameters& words, const Lattice& lattice, const Points& points, double kappa, const Given& given);

  Subset subset() const { return subset_; }
  void check(const void* const* arrays, std::size_t count, const std::string& what) const {
    words_.check(arrays, count, what);
  }
  void wait() const { words_.wait(); }
  /// Of one array.
  std::size_t bytes() const;
  /// Bytes of one array that a call reads or writes in the host's memory.
  std::size_t host_bytes() const { return words_.on_device() ? 0 : bytes(); }
  /// 2 kappa with `normalization: kappa`, else 1: M of the host is this times M of the library.
  double unit() const { return unit_; }
  /// `field` holds this subset in double; its sites are overwritten by `factor` times those of the array.
  void read_into(Field& field, const void* array, double factor = 1) const;
  /// Overwrites the array by `factor` times the field; it is there on return.
  void write_from(const Field& field, void* array, double factor = 1) const;

 private:
  ArrayWords words_;
  const Lattice& lattice_;
  Subset subset_;
  Points points_;
  ForeignSpinors layout_{};
  double unit_ = 1;
};

}  // namespace quadrille::capi
