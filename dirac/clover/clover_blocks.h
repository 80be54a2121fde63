// The clover term: what acts on a site of a clover operator, and its inverse, with a twisted mass or without.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "core/operator/operator.h"

#include <array>
#include <cstdint>
#include <memory>

namespace quadrille {

struct ForeignBlocks;

/// A = number + (i/2) sum_{mu < nu} c_mu nu sigma_mu nu F_mu nu, sigma = (i/2) [gamma_mu, gamma_nu], F as in
/// core/gauge/clover_leaves.h, c = `spatial` for two spatial directions and `temporal` otherwise: B. Sheikholeslami,
/// R. Wohlert, Nucl. Phys. B 259 (1985) 572; or `exponential` number exp(C / number) with C the sum above: A. Francis,
/// P. Fritzsch, M. Luescher, A. Rago, Comput. Phys. Commun. 255 (2020) 107355. Hermitian; commutes with gamma_5, so
/// that it is a 6 x 6 matrix for each chirality. To it, i mu gamma_5.
struct CloverTerm {
  double number = 0;
  double spatial = 0, temporal = 0;
  bool exponential = false;
  double mu = 0;
};

/// A and (A + i mu gamma_5)^-1 from the links of a store, or A from a host; computed in double on the store's backend
/// and copied to the precisions that are wanted. When the links change, update() follows them. One thread at a time.
class QUADRILLE_API CloverBlocks {
 public:
  /// Collective. ErrorCode::numerical naming the site where A + i mu gamma_5 cannot be inverted.
  CloverBlocks(std::shared_ptr<const GaugeStore> gauge, const CloverTerm& term);

  const CloverTerm& term() const { return term_; }
  /// Fields of site_formats::chiral_blocks on both parities, in the gauge of a form; they stay where they are as long
  /// as this lives. Collective.
  const Field& blocks(const OperatorForm& form) const { return of_form(a_, form); }
  /// (A + i mu gamma_5)^-1 = inverse - i gamma_5 twisted_inverse: A / (A^2 + mu^2) and mu / (A^2 + mu^2). The second is
  /// there where mu is not 0.
  const Field& inverse(const OperatorForm& form) const { return of_form(inverse_, form); }
  const Field& twisted_inverse(const OperatorForm& form) const { return of_form(twisted_inverse_, form); }
  /// log |det (A + i mu gamma_5)| of the sites of each parity of the whole lattice; the same bits on any number of
  /// ranks. Collective.
  std::array<double, 2> log_det() const;
  /// Follows the links of the store if they have changed. Collective.
  void update();
  /// A is that of an array that the backend reaches, from now on, whatever the links and the term. Collective.
  /// ErrorCode::numerical, naming the site, for blocks that are further from Hermitian than 1e-10 (in single precision
  /// 1e-5) or that cannot be inverted; they are there all the same until others come.
  void take(const ForeignBlocks& from);

 private:
  /// Without and with temporal gauge, by precision; all null where there is no such field.
  using Forms = std::array<std::array<std::unique_ptr<Field>, 3>, 2>;
  static const Field& master(const Forms& forms) { return *forms[0][std::size_t(Precision::Double)]; }
  const Field& of_form(Forms& forms, const OperatorForm& form) const;
  void fill(Field& to, const Field& from, bool temporal_gauge) const;
  void compute_from_links();
  /// All that follows from A and the gauge.
  void compute_others();

  std::shared_ptr<const GaugeStore> gauge_;
  CloverTerm term_;
  bool taken_ = false;  ///< A is a host's
  static constexpr std::uint64_t stale = ~std::uint64_t(0);
  std::uint64_t version_ = stale;  ///< of the links that all follows from
  mutable Forms a_, inverse_, twisted_inverse_;
};

}  // namespace quadrille
