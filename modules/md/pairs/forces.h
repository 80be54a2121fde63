// Lennard-Jones and Coulomb forces between all pairs of particles, accumulated by one of the methods of Narumi et al.
// or in 64-bit fixed point.
//
//   PairForces forces(system, {.method = Method::narumi, .coulomb = Coulomb::plain});
//   const ForceResult result = forces.compute(system.positions, {});
//
// Bits. f(i, j) = -f(j, i) bit for bit in every method. In fixed point (narumi, int64) the forces have the same bits
// for any order of the particles, any threads and any launch on one backend, instruction set and build, and their sum
// is exactly 0. In the others they depend on the order of the particles, on threads never.
#pragma once

#include "core/api.h"
#include "core/system/names.h"
#include "modules/md/pairs/pair_problem.h"
#include "modules/md/system/system.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace quadrille {
class Backend;
class Communicator;
}

namespace quadrille::md {

enum class Coulomb { none, plain, reaction_field };
inline constexpr Named<Coulomb> coulomb_names[] = {
    {Coulomb::none, "none"}, {Coulomb::plain, "plain"}, {Coulomb::reaction_field, "reaction_field"}};
/// Of excluded pairs: masked while all pairs are summed, or taken away when that is done, in the same arithmetic.
enum class ExclusionWay { on_the_fly, afterwards };

struct ForceOptions {
  Method method = Method::narumi;
  Coulomb coulomb = Coulomb::none;
  ExclusionWay exclusions = ExclusionWay::on_the_fly;
  double cutoff = 0;           ///< 0: none, in open space. Else periodic, truncated; the box at least twice that
  double dielectric = 78.3;    ///< of the reaction field
  Backend* backend = nullptr;  ///< null: the CPU
  /// Null: this process alone. Else each rank sums the forces on its share of the particles, and all ranks have all of
  /// them, with the bits of one process. Then every call is collective, with the same arguments on all ranks; of those
  /// on GPUs several may share one. It outlives what is made with the options.
  const Communicator* ranks = nullptr;
};

struct ForceResult {
  std::vector<double> forces;        ///< [particle][x, y, z]
  std::vector<std::int64_t> quanta;  ///< in fixed point the same as whole numbers of 2^-exponent, else empty
  int exponent = 0;                  ///< of fixed point and of nitadori_large: forces were scaled by 2^exponent
  double energy = 0;                 ///< with energy only
  std::array<double, 9> virial{};    ///< sum over pairs of f_a d_b, rows; with energy only
  int passes = 0;                    ///< over all pairs: more than one where a scale was looked for
  double pass_seconds = 0;           ///< of the last of them: the kernel alone, on a GPU by its clock
};

/// The parameters of a system with the state of its sums: scales of fixed point, kept from call to call.
class QUADRILLE_API PairForces {
 public:
  /// Takes types, charges, table, exclusions and scaled pairs of the system; its positions and box are not read.
  /// Errors (ErrorCode::invalid_input): counts that do not match, types beyond the table, pairs of a particle with
  /// itself or of particles that there are not, parameters that are not finite, a reaction field without a cutoff.
  PairForces(const System& system, const ForceOptions& options);
  ~PairForces();
  PairForces(PairForces&&) noexcept;
  PairForces& operator=(PairForces&&) noexcept;

  /// Positions [particle][x, y, z]; the edges of the box count with a cutoff only. Errors: positions that are not
  /// finite, particles at the same place (ErrorCode::numerical, naming them), a box below twice the cutoff
  /// (invalid_input), a sum that no scale can hold (numerical, naming the particle).
  ForceResult compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy = false);
  /// The same where positions and forces [particle][x, y, z] are in the memory of the backend of the options; the
  /// result has no forces and no quanta. `forces` is overwritten.
  ForceResult compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                            bool energy = false);

  std::int64_t size() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// One call: forces, energy and virial of a system as it stands.
QUADRILLE_API ForceResult forces(const System& system, const ForceOptions& options = {});

/// "A" to "G" and "int64", as in tables; and back, also by name. Unknown: ErrorCode::invalid_input with the known ones.
QUADRILLE_API std::string letter_of(Method method);
QUADRILLE_API Method method_named(const std::string& name);
/// The letters that a job can name, not those of the sums that others are compared with; the last is null.
extern const std::array<const char*, 10> method_letters;
/// In the words of table 1.
QUADRILLE_API std::string description_of(Method method);
constexpr bool is_fixed(Method method) {
  return method == Method::narumi || method == Method::narumi_constant || method == Method::int64 ||
         method == Method::exact;
}

}  // namespace quadrille::md
