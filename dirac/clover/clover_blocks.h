// The clover term: what acts on a site of a clover operator, and its inverse.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "core/operator/operator.h"

#include <array>
#include <cstdint>
#include <memory>

namespace quadrille {

/// A = number + (i/2) sum_{mu < nu} c_mu nu sigma_mu nu F_mu nu, sigma = (i/2) [gamma_mu, gamma_nu], F as in
/// core/gauge/clover_leaves.h, c = `spatial` for two spatial directions and `temporal` otherwise: B. Sheikholeslami,
/// R. Wohlert, Nucl. Phys. B 259 (1985) 572. Hermitian; commutes with gamma_5, so that it is a 6 x 6 matrix for each
/// chirality.
struct CloverTerm {
  double number = 0;
  double spatial = 0, temporal = 0;
};

/// A and A^-1 from the links of a store, computed in double on its backend and copied to the precisions that are
/// wanted. When the links change, update() follows them. One thread at a time.
class QUADRILLE_API CloverBlocks {
 public:
  /// Collective. ErrorCode::numerical naming the site where A cannot be inverted.
  CloverBlocks(std::shared_ptr<const GaugeStore> gauge, const CloverTerm& term);

  const CloverTerm& term() const { return term_; }
  /// Fields of site_formats::chiral_blocks on both parities, in the gauge of a form; they stay where they are as long
  /// as this lives. Collective.
  const Field& blocks(const OperatorForm& form) const { return of_form(a_, form); }
  const Field& inverse(const OperatorForm& form) const { return of_form(inverse_, form); }
  /// log |det A| of the sites of each parity of the whole lattice; the same bits on any number of ranks. Collective.
  std::array<double, 2> log_det() const;
  /// Follows the links of the store if they have changed. Collective.
  void update();

 private:
  using Forms =
      std::array<std::array<std::unique_ptr<Field>, 3>, 2>;  ///< without and with temporal gauge, by precision
  static const Field& master(const Forms& forms) { return *forms[0][std::size_t(Precision::Double)]; }
  const Field& of_form(Forms& forms, const OperatorForm& form) const;
  void fill(Field& to, const Field& from, bool temporal_gauge) const;
  void compute();

  std::shared_ptr<const GaugeStore> gauge_;
  CloverTerm term_;
  std::uint64_t version_ = 0;
  mutable Forms a_, inverse_;
};

}  // namespace quadrille
