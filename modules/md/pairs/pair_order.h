// The particles in the order of the kernels: sorted by type, each type in chunks of its own, and what each leaves out.
#pragma once

#include "modules/md/pairs/forces.h"

#include <vector>

namespace quadrille::md {

struct PairOrder {
  std::vector<std::int32_t> slot_of;      ///< [particle]
  std::vector<std::int32_t> particle_of;  ///< [slot]; -1 where there is none
  std::vector<std::int32_t> chunk_type, chunk_count;
  std::vector<std::int64_t> masked_begin;
  std::vector<std::int32_t> masked_chunks;
  std::vector<std::uint64_t> mask;

  std::int64_t slots() const { return std::int64_t(particle_of.size()); }
  std::int64_t groups() const { return std::int64_t(chunk_type.size()); }
};

/// `masked`: pairs that are left out, besides that of a particle with itself.
PairOrder order_particles(const System& system, const std::vector<Exclusion>& masked);

/// What PairForces says of a system that it cannot use.
void check_system(const System& system, const ForceOptions& options);

/// And of positions and boxes.
void check_positions(std::int64_t size, const ForceOptions& options, std::span<const double> positions,
                     const std::array<double, 3>& box);
void check_box(const ForceOptions& options, const std::array<double, 3>& box);

/// Why a sum of this particle is not finite: names the one that is nearest. `system` needs exclusions sorted, each with
/// the smaller index first.
[[noreturn]] void explain_infinite(const System& system, const ForceOptions& options, std::span<const double> positions,
                                   const std::array<double, 3>& box, std::int32_t particle);

/// Puts the exclusions into that order, each once.
void sort_exclusions(System& system);

/// The listed pairs of each slot as indices: what is taken away and what is added.
struct ListedIndex {
  std::int32_t other;
  std::int64_t scaled;  ///< of system.scaled_pairs; -1: a regular pair that is taken away
};
struct ListedPairs {
  std::vector<std::int64_t> begin;  ///< [slot + 1]
  std::vector<ListedIndex> pairs;
};
ListedPairs list_pairs(const System& system, const PairOrder& order, bool take_away);

}  // namespace quadrille::md
