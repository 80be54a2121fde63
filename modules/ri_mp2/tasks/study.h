// What mixed and single precision do to one system: errors of the energy, of B and of the integrals against double,
// and the speed of both steps (figures 3 to 6 of Olivares-Amaya et al., JCTC 6 (2010) 135).
#pragma once

#include "modules/ri_mp2/ri_mp2.h"

#include <functional>
#include <string>
#include <vector>

namespace quadrille::ri_mp2 {

struct StudyOptions {
  std::vector<double> deltas;         ///< cutoffs of mgemm, of both steps
  std::vector<double> target_errors;  ///< of the energy, in Hartree, for cutoffs that mgemm chooses, as measured
  bool always_split = true;           ///< Options
  bool element_errors =
      true;         ///< else those of B and of the integrals are not computed: they cost a run in double each
  int repeats = 3;  ///< times that each run is timed
  std::int64_t memory = std::int64_t(1) << 30;  ///< Options; the integrals compared with take as much again
  /// Options; the study has (ia|P), B and, for errors of the integrals, a batch of them in the host's memory besides. A
  /// cap does not go with target errors, as the sample that chooses a cutoff needs all of B.
  std::int64_t memory_cap = 0;
  std::string scratch = {};    ///< Options
  Backend* backend = nullptr;  ///< Options
  /// Called before each run with what it is, and the fraction of all runs that is done. May be empty.
  std::function<void(const std::string&, double)> progress = {};
};

/// Differences from what double precision gives.
struct ElementErrors {
  double largest = 0, rms = 0;
};

/// A run in one precision. Seconds are medians.
struct StudyRow {
  mgemm::ProductPrecision precision = mgemm::ProductPrecision::double_;
  double delta = 0;         ///< of mgemm
  double target_error = 0;  ///< of mgemm where it is not 0: delta is what was chosen for step 4, 0 for double
  Energy energy;            ///< of the run that was looked at; its times say nothing
  double energy_error = 0;
  ElementErrors b, integrals;                          ///< of all B_ia^Q and all ordered pairs ia, jb
  double large_ia_p = 0, large_root = 0, large_b = 0;  ///< fractions above delta: in (ia|P), (P|Q)^{-1/2}, B
  double step3_seconds = 0, step4_seconds = 0, energy_seconds = 0;
  double metric_seconds = 0;  ///< of (P|Q)^{-1/2}, which is made once for all rows
  double seconds = 0;         ///< of the whole call of correlation_energy, and of that
};

/// Double first, then single, then mgemm with each delta and for each target; they take turns while they are timed.
/// Errors: those of correlation_energy.
QUADRILLE_API std::vector<StudyRow> study_system(const System& system, const StudyOptions& options);

/// "double", "single", "mgemm, delta 0.1", "mgemm for 1e-07 Hartree".
std::string to_string(const StudyRow& row);

}  // namespace quadrille::ri_mp2
