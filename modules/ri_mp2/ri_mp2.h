// The closed-shell MP2 correlation energy with the resolution of the identity (Feyereisen, Fitzgerald, Komornicki,
// Chem. Phys. Lett. 208 (1993) 359), its matrix products in double, single or mixed precision (Olivares-Amaya et al.,
// JCTC 6 (2010) 135):
//
//   step 3   B_ia^Q = sum_P (ia|P) (P|Q)^{-1/2}
//   step 4   (ia|jb) = sum_Q B_ia^Q B_jb^Q
//   energy   E = sum_{ijab} (ia|jb) [2 (ia|jb) - (ib|ja)] / (e_i + e_j - e_a - e_b)
//
// i, j are occupied and a, b virtual orbitals, P and Q functions of the auxiliary basis. Integrals are made for batches
// of occupied orbitals and never stored whole. Energies are in Hartree.
#pragma once

#include "core/api.h"
#include "modules/mgemm/choice/forms.h"
#include "modules/mgemm/choice/precision.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace quadrille {
class Backend;
}

namespace quadrille::ri_mp2 {

struct System {
  std::int64_t occupied = 0, virtuals = 0, auxiliary = 0;
  std::vector<double> ia_p;                       ///< (ia|P): [occupied][virtuals][auxiliary]
  std::vector<double> p_q;                        ///< (P|Q): [auxiliary][auxiliary], symmetric and positive definite
  std::vector<double> eps_occupied, eps_virtual;  ///< orbital energies; all of the first below all of the second
  std::string file = {};                          ///< that it was read from, which errors name; may be empty
  /// Where ia_p is empty: writes (ia|P) of the occupied orbitals [first, first + count) to `to`. A batch is asked for
  /// once, or more often if step 3 is repeated.
  std::function<void(std::int64_t first, std::int64_t count, double* to)> read_ia_p = {};

  std::int64_t pairs() const { return occupied * virtuals; }
};

template <class T>
struct Batch;  // energy.h

struct Options {
  /// Of step 4, and of step 3 unless in mgemm. The target error of an automatic cutoff is that of the energy, in
  /// Hartree (split_choice.h).
  mgemm::PrecisionChoice products;
  /// Of mgemm; automatic: double, a small part of the work. A given one beside an automatic one of step 4 gives way to
  /// double where its errors alone may exceed the target.
  mgemm::Cutoff step3 = mgemm::Cutoff::for_error(0);
  std::int64_t memory = std::int64_t(1) << 30;  ///< bytes for a batch of integrals, where they are made
  /// Bytes that steps 3 and 4 may take: of the host's memory on a CPU, besides an ia_p of the caller, (P|Q) and its
  /// root; on a GPU of the device's. Where they take more, B stays on disk (CPU) or in the host's memory (GPU), and
  /// blocks of its occupied orbitals pass through (stream/plan.h). 0: what is free.
  std::int64_t memory_cap = 0;
  /// On a CPU: B that does not fit is in a file without a name in this folder, or in that of this file, where it needs
  /// 8 bytes (4 in single) a number. Empty: the current folder, and with a memory_cap of 0 B must fit.
  std::string scratch = {};
  /// Who does steps 3 and 4 and the sums: the CPU where null; with the CUDA backend B and the integrals stay in the
  /// memory of the device.
  Backend* backend = nullptr;
  /// (P|Q)^{-1/2} where it is known already; computed where null.
  const std::vector<double>* root = nullptr;
  /// Of mgemm on a GPU; automatic: chosen. A form by name is taken whatever its error with a given cutoff.
  mgemm::SmallForm small_form = mgemm::SmallForm::automatic;
  /// Called after each batch with the fraction of the work that is done. May be empty.
  std::function<void(double)> progress = {};
  /// Called with the integrals of each batch, in the precision that they are made in, before they are summed: for
  /// studies of their errors. May be empty.
  std::function<void(const Batch<double>&)> see_batch = {};
  std::function<void(const Batch<float>&)> see_single_batch = {};
};

struct Step {
  double seconds = 0, flops = 0;  ///< all that the step took: choices and conversions too
  std::string form;               ///< "double", "single", "mgemm ..."
  double delta = 0;               ///< of a split of step 4
  /// Of step 4, in Hartree, where its cutoff was automatic: what it and a split step 3 are not expected to change the
  /// energy by more than (split_choice.h).
  double energy_error = 0;
  /// Where B did not fit, bytes that passed: to and from the disk (CPU) or the device (GPU).
  std::int64_t streamed = 0;
};

/// How B passed through a memory that it does not fit into.
struct Stream {
  std::int64_t memory = 0;  ///< bytes that step 4 took; 0: B did fit
  std::int64_t kept = 0;    ///< occupied orbitals i of a block that stays while all j pass
};

struct Energy {
  double correlation = 0;                         ///< opposite_spin + same_spin
  double opposite_spin = 0, same_spin = 0;        ///< sums of x^2 / D and x (x - y) / D
  double metric_seconds = 0, energy_seconds = 0;  ///< of (P|Q)^{-1/2}, and of the sums
  Step step3, step4;
  std::int64_t batch = 0;  ///< occupied orbitals of a batch
  Stream stream;
};

/// Errors: ErrorCode::invalid_input for arrays of wrong lengths, a gap e_a - e_i that is not positive, a metric that is
/// not symmetric, memory that does not hold the integrals of one pair, a memory_cap that does not hold one pair of
/// orbitals (with the smallest that does), a cutoff or a target error that cannot be, or cannot be had with a
/// memory_cap; ErrorCode::file for a scratch file that cannot be written; ErrorCode::numerical for numbers that are not
/// finite and for a metric whose smallest eigenvalue is below 1e-12 of its largest; ErrorCode::unsupported, with the
/// bytes needed and free, where the memory of a GPU runs out.
QUADRILLE_API Energy correlation_energy(const System& system, const Options& options);

/// Whether correlation_energy() wants a scratch file: B is on the host, and fits neither into the memory_cap nor,
/// without one, into the memory that is free. Options::scratch does not count. Errors: those of sizes and of memory.
QUADRILLE_API bool needs_scratch(const System& system, const Options& options);

/// What correlation_energy demands of the orbital energies; the integrals are not looked at.
void check_orbital_energies(const System& system);

/// That `count` numbers of (ia|P) from number `first` on are finite: ErrorCode::numerical, with the first that is not.
void check_ia_p(const System& system, const double* numbers, std::int64_t first, std::int64_t count);

/// (P|Q)^{-1/2} by diagonalization, n x n; errors as above.
QUADRILLE_API std::vector<double> inverse_square_root(const std::vector<double>& metric, std::int64_t n);
/// The same of a system, whose file errors name.
std::vector<double> inverse_square_root(const System& system);

/// B_ia^Q, [occupied][virtuals][auxiliary], by the step 3 of the options, whatever the target error of the energy.
QUADRILLE_API std::vector<double> make_b(const System& system, const Options& options, Energy& report);

}  // namespace quadrille::ri_mp2
