#include "modules/md/bonded/cuda/bonded.h"

#include "modules/md/pairs/cuda/arrays.h"

namespace quadrille::md {

CudaBonded::CudaBonded(const System& system) : tables_(system) {
  if (empty()) return;
  bonds_ = sent(tables_.bonds);
  angles_ = sent(tables_.angles);
  torsions_ = sent(tables_.torsions);
  begin_ = sent(tables_.begin);
  on_particles_ = room<Triple>(tables_.begin.back());
  energies_ = room<double>(tables_.terms());
}

BondedProblem CudaBonded::problem() const {
  return {std::int64_t(tables_.bonds.size()),
          std::int64_t(tables_.angles.size()),
          std::int64_t(tables_.torsions.size()),
          bonds_.get(),
          angles_.get(),
          torsions_.get(),
          begin_.get(),
          on_particles_.get(),
          energies_.get()};
}

void CudaBonded::launch_terms(const DeviceParticles& particles, const Gate& gate) {
  launch_bonded_terms(problem(), particles, gate);
}

void CudaBonded::launch_total(const DeviceParticles& particles, const double* pair_forces, double unit,
                              const Gate& gate) {
  if (total_.get() == nullptr) total_ = room<double>(3 * particles.slots);
  launch_total_forces(problem(), particles, pair_forces, unit, total_.get(), gate);
}

std::array<double, 3> CudaBonded::energies() const {
  std::array<double, 3> out{};
  const double* at = energies_.get();
  const std::size_t counts[] = {tables_.bonds.size(), tables_.angles.size(), tables_.torsions.size()};
  for (std::size_t kind = 0; kind < out.size(); ++kind) {
    const auto count = std::int64_t(counts[kind]);
    if (count == 0) continue;
    const auto partial = room<double>(chunks_of(count));
    launch_chunk_sums(at, 0, 1, nullptr, count, partial.get());
    out[kind] = combined<1>(partial, chunks_of(count))[0];
    at += count;
  }
  return out;
}

double CudaBonded::virial(const DeviceParticles& particles) const {
  const auto virials = room<double>(particles.slots), partial = room<double>(chunks_of(particles.size));
  launch_bonded_virials(problem(), particles, virials.get());
  launch_chunk_sums(virials.get(), 0, 1, particles.slot_of, particles.size, partial.get());
  return combined<1>(partial, chunks_of(particles.size))[0];
}

}  // namespace quadrille::md
