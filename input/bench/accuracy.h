// How exact every form of the hopping term is: the accuracy study.
//
// Figure 6 of M. A. Clark, R. Babich, K. Barros, R. C. Brower and C. Rebbi, arXiv:0911.3191: random vectors, random
// SU(3) links, and the cumulative distribution of the deviations, element by element, from the product in high
// precision.
#pragma once

#include "core/backend/backend.h"
#include "core/gauge/gauge_store.h"
#include "core/operator/operator.h"
#include "input/bench/deviations.h"

#include <nlohmann/json.hpp>

#include <memory>
#include <string>

namespace quadrille::bench {

/// One random vector and one random gauge field, and the hopping term D on both parities of the one from the other.
/// The site-diagonal part of the Wilson operator is left out, as it is the same multiplication in all forms.
class AccuracyStudy {
 public:
  /// Links uniform in SU(3); real and imaginary parts of the vector normal numbers of variance 1. `lattice` outlives
  /// this.
  AccuracyStudy(const Lattice& lattice, std::uint64_t seed, Backend& backend);

  const HostLinks& links() const { return links_; }
  const HostSpinor& vector() const { return vector_; }
  /// extended_hop() of them.
  const std::vector<Extended>& reference() const { return reference_; }

  struct Product {
    HostSpinor vector;
    std::string isa;  ///< of the kernel that ran
  };
  /// D times the vector, by the kernel of this form: from the host's arrays in double, in the original gauge, through
  /// the form's own precision and gauge and back, all conversions included.
  Product product(const OperatorForm& form) const;

 private:
  const Lattice* lattice_;
  Backend* backend_;
  std::shared_ptr<const GaugeStore> gauge_;
  HostLinks links_;
  HostSpinor vector_;
  std::vector<Extended> reference_;
};

/// A curve and where it stands.
struct AccuracyRow {
  OperatorForm form;
  Dims dims{};
  std::string backend, isa;
  int threads = 0;
  Deviations deviations;
};

std::string accuracy_heading();
std::string text(const AccuracyRow& row);
nlohmann::ordered_json json(const AccuracyRow& row);

}  // namespace quadrille::bench
