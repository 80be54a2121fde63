// Halos of any depth: a field of any site format on a torus that has the sites of other ranks around this rank's.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/field/layer_exchange.h"
#include "core/layout/lattice.h"

#include <memory>
#include <vector>

namespace quadrille {

/// A copy of a rank's part of a field on a torus that is 2 * depth sites longer in each divided direction
/// (core/layout/site_layers.h), so that whatever works on a torus finds the sites of other ranks as it finds its own:
/// all that at most `depth` steps in each direction lead to, corners included.
///
/// Layers travel one axis after the other, each with the ghosts of those before. The constructor
/// and exchanges are collective; work is asked for on the backend's stream. On a CPU HaloExchange
/// (core/field/halo_exchange.h) needs no copy, for shifts by one site.
class QUADRILLE_API HaloTorus {
 public:
  /// Of a full field, which outlives this: its sites are copied, and all ghosts filled. Both parities of the torus are
  /// in the layout of the field, or in one of the same family where its lanes do not fit. Errors, on all ranks:
  /// ErrorCode::internal unless the field is full and of one right-hand side, and depth at least 1;
  /// ErrorCode::unsupported where a rank's part is thinner than `depth`, or the torus has 2^32 sites or more. Memory
  /// that runs out on one rank is an error there alone.
  explicit HaloTorus(Field& field, int depth = 1);
  HaloTorus(const HaloTorus&) = delete;
  HaloTorus& operator=(const HaloTorus&) = delete;

  /// What may be worked on: the sites with coordinates below those of the field's lattice are this rank's.
  Field& field() { return torus_field_; }
  const Field& field() const { return torus_field_; }

  /// Brings the ghosts of a section of one parity up to date. Norms, where the format has them, are one section more,
  /// behind the others.
  void exchange(int section, Parity p);
  void exchange_all();
  /// The field's sites onto the torus, and this rank's sites of the torus into the field; ghosts stay as they are.
  void copy_in();
  void copy_back() const;

 private:
  int sections() const;

  Field& field_;
  Lattice torus_;
  Field torus_field_;
  std::vector<std::unique_ptr<LayerExchange>> numbers_, norms_;  ///< by axis
};

}  // namespace quadrille
