// Pair forces with a cutoff in a periodic box, from neighbour lists that are rebuilt when a particle has moved by half
// the skin.
//
//   ListForces forces(system, {.forces = {.method = Method::narumi, .cutoff = 2.5}, .skin = 0.3});
//   const ForceResult result = forces.compute(system.positions, system.box, true);
//
// Each pair is in the lists of both particles: no two threads write the same sum, and f(i, j) = -f(j, i) bit for bit.
// In fixed point the forces have the same bits for any order of the particles, any lists and any threads, and add up to
// exactly 0; in the other methods the bits depend on the order of the particles and on where they were when the lists
// were built (`listed_positions`). GPUs and CPUs with AVX2 or AVX-512 give the same bits in every method.
#pragma once

#include "core/system/names.h"
#include "modules/md/pairs/forces.h"

namespace quadrille::md {

/// What becomes of the interaction at the cutoff rc: cut off; u - u(rc); or also f - f(rc), with the energy whose
/// negative gradient that is. Of scaled pairs nothing is changed.
enum class Truncation { cut, shifted_potential, shifted_force };
inline constexpr Named<Truncation> truncation_names[] = {{Truncation::cut, "cut"},
                                                         {Truncation::shifted_potential, "shifted_potential"},
                                                         {Truncation::shifted_force, "shifted_force"}};

struct ListOptions {
  ForceOptions forces;  ///< with a cutoff; of any method but `exact` and `magnitudes`
  Truncation truncation = Truncation::cut;
  double skin = 0.3;  ///< lists have what is within cutoff + skin
};

struct ListStatistics {
  std::int64_t builds = 0;
  double pairs_per_particle = 0;  ///< entries of the last lists, padded to those of the particles beside
};

class QUADRILLE_API ListForces {
 public:
  /// As PairForces; also refused (ErrorCode::invalid_input): no cutoff, a skin that is not above 0.
  ListForces(const System& system, const ListOptions& options);
  ~ListForces();
  ListForces(ListForces&&) noexcept;
  ListForces& operator=(ListForces&&) noexcept;

  /// As PairForces::compute. Positions may be anywhere: a particle is where its image in the box is.
  ForceResult compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy = false);
  /// The same without quanta; `forces` [particle][x, y, z] is overwritten, the result has none.
  ForceResult compute_into(std::span<const double> positions, const std::array<double, 3>& box,
                           std::span<double> forces, bool energy = false);

  /// As PairForces::compute_there; on a GPU positions and forces stay there, but for those that lists are built for.
  ForceResult compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                            bool energy = false);

  std::int64_t size() const;
  ListStatistics statistics() const;

  /// What the next forces depend on besides the positions: those that the lists were built for (empty: none yet) and
  /// the exponents of fixed point. Given back to another object for the same system, it goes on with the same bits.
  struct Memory {
    std::vector<double> listed_positions;
    std::array<double, 3> box{};
    int force_exponent = 0, energy_exponent = 0;
    bool scaled = false;
  };
  Memory memory() const;
  void remember(const Memory& memory);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace quadrille::md
