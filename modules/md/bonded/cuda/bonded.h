// Bonded terms on the device: forces of all terms, a thread each, and then for every particle the sum of its own in
// their order: no atomics, and the bits of the CPU.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/md/bonded/bonded.h"
#include "modules/md/lists/cuda/list_kernels.h"

namespace quadrille::md {

class CudaBonded {
 public:
  explicit CudaBonded(const System& system);

  bool empty() const { return tables_.terms() == 0; }
  const BondedTables& tables() const { return tables_; }
  /// Forces of terms where the particles are; halts with terms_undefined, naming the first.
  void launch_terms(const DeviceParticles& particles, const Gate& gate);
  /// total() = pair_forces times `unit` + bonded forces; pair_forces by slot, x, y, z one after the other.
  void launch_total(const DeviceParticles& particles, const double* pair_forces, double unit, const Gate& gate);
  const double* total() const { return total_.get(); }

  /// Of bonds, angles and torsions, and the virial, of the last terms; waits for the device.
  std::array<double, 3> energies() const;
  double virial(const DeviceParticles& particles) const;

 private:
  BondedProblem problem() const;

  const BondedTables tables_;
  cuda::DeviceArray<BondTerm> bonds_;
  cuda::DeviceArray<AngleTerm> angles_;
  cuda::DeviceArray<TorsionTerm> torsions_;
  cuda::DeviceArray<std::int32_t> begin_;
  cuda::DeviceArray<Triple> on_particles_;
  cuda::DeviceArray<double> energies_;
  cuda::DeviceArray<double> total_;  ///< made when it is first needed
};

// -- kernels (bonded.cu) --

void launch_bonded_terms(const BondedProblem& bonded, const DeviceParticles& particles, const Gate& gate);
void launch_total_forces(const BondedProblem& bonded, const DeviceParticles& particles, const double* pair_forces,
                         double unit, double* total, const Gate& gate);
/// virial [slot]: bonded force times position.
void launch_bonded_virials(const BondedProblem& bonded, const DeviceParticles& particles, double* virial);

}  // namespace quadrille::md
