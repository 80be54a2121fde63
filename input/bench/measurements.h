// What can be measured on one lattice. Each function calls `add` with a row as soon as it is measured.
#pragma once

#include "core/backend/backend.h"
#include "core/layout/lattice.h"
#include "input/bench/bench.h"
#include "input/bench/table.h"
#include "input/bench/timing.h"

#include <functional>

namespace quadrille::bench {

using AddRow = std::function<void(const Row&)>;

/// Everything on one lattice that the measurements share.
struct Bench {
  const Lattice& lattice;
  Backend& backend;
  const BenchOptions& options;
  const MemoryRates& memory;
  AddRow add;

  /// The precisions and reconstructions that the options leave.
  std::vector<Precision> precisions() const;
  std::vector<Reconstruct> reconstructs() const;
  /// Median seconds of one call (input/bench/timing.h), on the slowest rank.
  template <class Call>
  double time(Call&& call) const {
    return median_seconds(
        call, [this] { backend.synchronize(); },
        [this](double seconds) {
          lattice.communicator().maximum(&seconds, 1);
          return seconds;
        });
  }
  /// A row with the columns that all rows of this lattice and precision have in common.
  Row row(const std::string& kernel, Precision precision) const;
};

/// One parity from the other, even and odd in turn, over four pairs of fields or more, so that nothing but the links
/// can come from a cache that holds less than four pairs; for as many right-hand sides in a call as the options say.
/// Links are random; every form, with temporal gauge fixing and with xpay.
void measure_dslash(const Bench& bench);
/// Even from odd, the same two fields again and again, part of which may stay in a cache: what other programs'
/// benchmarks on a GPU do.
void measure_dslash_same(const Bench& bench);
/// The even-odd preconditioned operator of every operator there is, over fields as in measure_dslash(): two hops with
/// their site-local terms.
void measure_operator(const Bench& bench);
/// Both parities, the same two fields again and again: what other programs' benchmarks of the Wilson operator do.
void measure_dslash_full(const Bench& bench);
/// Every fused operation of core/blas on one parity, over fields that rotate through four times their number.
void measure_blas(const Bench& bench);
/// Seconds of one iteration of every uniform Krylov method (its bytes are those of its kernels), even-odd
/// preconditioned Wilson operator on random links with a mass that is heavy enough to keep iterating.
void measure_solver(const Bench& bench);
/// Updates of all links of pure gauge theory at beta 6 (modules/quenched), by heatbath and by overrelaxation, in double
/// and single precision with 18 and 12 numbers per link.
void measure_generate(const Bench& bench);
/// A host's links in ILDG's order against a memcpy of them by all threads: "read" with the check for SU(3),
/// "read_operator" into links that an operator works with, "write". Each counts what the memcpy moves.
void measure_links(const Bench& bench);

}  // namespace quadrille::bench
