// Links that other ranks update, around the links of this rank's part: for updates on a GPU.
#pragma once

#include "core/backend/cuda/channels/device_channel.h"
#include "core/field/field.h"
#include "core/layout/lattice.h"
#include "modules/quenched/updates/grouped_field.h"

#include <memory>
#include <vector>

namespace quadrille::quenched {

/// The extents of the torus of a CudaLinkHalo; those of the lattice itself when it is not divided.
Dims torus_around(const Lattice& part);

/// A copy of a rank's links on a torus that is two sites longer in each divided direction, so that kernels find the
/// links of other ranks as they find its own (GroupedLinks).
///
/// Layers travel one direction after the other, each with the ghosts of those before: so come the corners, which
/// staples reach by a shift forward and one backward. Everything but links() and copy_back() is collective; it is asked
/// for on the backend's stream.
class CudaLinkHalo {
 public:
  /// Of links in double or single precision, which outlive this.
  explicit CudaLinkHalo(Field& links);

  const GroupedLinks& links() const { return with_ghosts_; }
  /// Brings the ghosts of links of one direction and parity up to date.
  void exchange(int mu, int parity);
  void exchange_all();
  /// The field that this was made of gets this rank's links as they are now.
  void copy_back() const;

 private:
  struct Axis {
    GhostAxis layers;
    std::unique_ptr<cuda::DeviceChannel> channel;
  };

  Lattice torus_;
  Field field_;
  GroupedLinks own_, with_ghosts_;
  std::vector<Axis> axes_;
};

}  // namespace quadrille::quenched
