// The ranks that a command runs on, and the grid that its user gave (--grid).
#pragma once

#include "core/backend/backend.h"
#include "core/comm/communicator.h"
#include "core/comm/ranks.h"

#include <memory>
#include <optional>
#include <string>

namespace quadrille {

struct RankGrid {
  Ranks* ranks = nullptr;        ///< null: one process; outlives every communicator
  std::optional<Dims> wanted{};  ///< the grid that a user gives; else one is chosen for each lattice
  std::string name = "--grid";   ///< by which messages call what the user gives
  std::shared_ptr<const Communicator>
      fixed{};  ///< unless null: what every lattice is divided over, in place of `ranks`

  int size() const { return fixed ? fixed->size() : ranks != nullptr ? ranks->size() : 1; }
  /// The part of all ranks that runs on this host.
  double share_of_host() const { return ranks != nullptr ? double(ranks->local_size()) / ranks->size() : 1; }
  bool first() const { return ranks == nullptr || ranks->rank() == 0; }
  /// For a lattice of these extents. Errors: those of choose_grid() (core/comm/process_grid.h), at the place `name` for
  /// a wanted grid. Collective, as all().
  std::shared_ptr<const Communicator> for_lattice(const Dims& global) const;
  /// Without regard to any lattice.
  std::shared_ptr<const Communicator> all() const;
  /// That of find_backend() (core/backend/backend.h), of devices number `device`, or, when that is negative, a
  /// different one for each rank of a host as long as there are enough. Errors: those of find_backend() on any rank;
  /// ErrorCode::unsupported where "auto" means different backends on different ranks. Collective.
  Backend& backend(const std::string& name, int device = -1) const;
};

}  // namespace quadrille
