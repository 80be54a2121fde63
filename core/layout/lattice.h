// Lattice geometry: extents, parity, even-odd indexing, and the part of the lattice that this process owns.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "core/dims.h"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

namespace quadrille {

class VectorLayout;

enum class Parity { Even = 0, Odd = 1 };
constexpr Parity opposite(Parity p) { return p == Parity::Even ? Parity::Odd : Parity::Even; }

/// A periodic 4-dimensional lattice divided over the ranks of a communicator.
///
/// Every global extent must be even and at least 2, and every rank's share even (ErrorCode::invalid_input otherwise),
/// so the parity (x+y+z+t) mod 2 of global coordinates is also that of local ones.
/// Even-odd index: ((t Lz + z) Ly + y) Lx/2 + x/2 over the local extents, separately for each parity.
class QUADRILLE_API Lattice {
 public:
  explicit Lattice(const Dims& global, std::shared_ptr<const Communicator> communicator = single_process());
  Lattice(const Lattice&) = delete;
  Lattice& operator=(const Lattice&) = delete;
  ~Lattice();

  const Dims& global_dims() const { return global_; }
  const Dims& dims() const { return local_; }
  /// Global coordinates of the local site 0.
  const Dims& origin() const { return origin_; }
  std::int64_t volume() const { return quadrille::volume(local_); }
  std::int64_t half_volume() const { return volume() / 2; }
  const Communicator& communicator() const { return *communicator_; }
  const std::shared_ptr<const Communicator>& shared_communicator() const { return communicator_; }

  static int parity(const Dims& x) { return (x[0] + x[1] + x[2] + x[3]) & 1; }
  /// Lexicographic local index, x fastest.
  std::int64_t site(const Dims& x) const {
    return ((std::int64_t(x[3]) * local_[2] + x[2]) * local_[1] + x[1]) * local_[0] + x[0];
  }
  Dims coordinates(std::int64_t site) const;
  /// Lexicographic global index of a local site: the counter of its random numbers.
  std::int64_t global_site(const Dims& x) const;
  /// Local coordinates of the site with even-odd index `index` of parity `p`.
  Dims coordinates(Parity p, std::int64_t index) const;
  /// Even-odd index of local coordinates (of the parity they have).
  std::int64_t even_odd_index(const Dims& x) const { return site(x) / 2; }

  /// The vector layout with this many lanes, made on first use and kept as long as the lattice.
  const VectorLayout& vector_layout(int lanes) const;

 private:
  Dims global_, local_, origin_;
  std::shared_ptr<const Communicator> communicator_;
  mutable std::mutex layouts_mutex_;
  mutable std::map<int, std::unique_ptr<const VectorLayout>> layouts_;
};

}  // namespace quadrille
