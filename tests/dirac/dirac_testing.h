// What the tests of Dirac operators share: random gauge fields, setups, and comparisons.
#pragma once

#include "core/field/convert.h"
#include "core/random/random.h"
#include "core/simd/isa.h"
#include "dirac/wilson.h"
#include "tests/reference/wilson.h"
#include "tests/testing/backend_under_test.h"
#include "tests/testing/extents.h"
#include "tests/testing/gauge_testing.h"
#include "tests/testing/host_starts.h"
#include "tests/testing/random_seed.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::testing {

/// Sets QUADRILLE_ISA for the life of this object.
class ForcedIsa {
 public:
  explicit ForcedIsa(Isa isa) : old_(std::getenv("QUADRILLE_ISA") ? std::getenv("QUADRILLE_ISA") : "") {
    setenv("QUADRILLE_ISA", to_string(isa).c_str(), 1);
  }
  ~ForcedIsa() {
    if (old_.empty()) {
      unsetenv("QUADRILLE_ISA");
    } else {
      setenv("QUADRILLE_ISA", old_.c_str(), 1);
    }
  }
  ForcedIsa(const ForcedIsa&) = delete;
  ForcedIsa& operator=(const ForcedIsa&) = delete;

 private:
  std::string old_;
};

inline HostSpinor random_spinor(const Dims& dims, std::uint64_t seed = next_seed()) {
  HostSpinor psi(dims);
  SiteRandom random(seed, RandomPurpose::Test, 0);
  for (Complex& x : psi.data) {
    const double re = random.normal(), im = random.normal();
    x = {re, im};
  }
  return psi;
}

/// |a - b| / |b|
inline double relative_distance(const HostSpinor& a, const HostSpinor& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) {
    difference += std::norm(a.data[i] - b.data[i]);
    size += std::norm(b.data[i]);
  }
  return std::sqrt(difference / size);
}

inline Complex dot(const HostSpinor& a, const HostSpinor& b) {
  Complex sum = 0;
  for (std::size_t i = 0; i < a.data.size(); ++i) sum += std::conj(a.data[i]) * b.data[i];
  return sum;
}

/// A lattice with links, and everything different in every direction.
struct Scene {
  Lattice lattice;
  std::shared_ptr<const GaugeStore> gauge;
  WilsonParameters parameters;

  /// What operators have besides the mass and the anisotropy.
  struct Terms {
    double mu = 0, csw_r = 0, csw_t = 0;
    bool exponential = false;
  };
  Scene(const Dims& dims, const HostLinks& links) : Scene(dims, links, Terms{}) {}
  Scene(const Dims& dims, const HostLinks& links, const Terms& terms)
      : lattice(dims), gauge(std::make_shared<const GaugeStore>(lattice, links, backend())) {
    parameters.mass = 0.137;
    parameters.mu = terms.mu;
    parameters.csw_r = terms.csw_r;
    parameters.csw_t = terms.csw_t;
    parameters.exponential = terms.exponential;
    parameters.xi0 = 2.464;
    parameters.nu = 0.95;
    parameters.boundary = {0.3, 1, -0.55, 0.125};
  }
  static Scene hot(const Dims& dims) { return Scene(dims, testing::hot_start(Lattice(dims), next_seed())); }
  static Scene weak(const Dims& dims, double epsilon) {
    return Scene(dims, testing::weak_start(Lattice(dims), next_seed(), epsilon));
  }
  Scene(const Scene&) = delete;

  reference::WilsonSetup setup() const {
    return {parameters.mass,  parameters.mu,          parameters.xi0,
            parameters.nu,    parameters.boundary,    parameters.csw_r,
            parameters.csw_t, parameters.exponential, parameters.chemical_potential};
  }
  WilsonOperator wilson(const OperatorForm& form = {}) const { return WilsonOperator(gauge, parameters, form); }
  std::shared_ptr<const WilsonOperator> shared_wilson(const OperatorForm& form = {}) const {
    return std::make_shared<const WilsonOperator>(gauge, parameters, form);
  }
};

/// A x (or A^+ x) for an operator on full fields, through the original gauge and the host's arrays.
inline HostSpinor apply(const LinearOperator& a, const HostSpinor& x, Dagger dagger = Dagger::No) {
  FieldDesc original = FieldDesc::spinor(*a.field_desc().lattice, Subset::Full, Precision::Double, backend());
  Field outside(original), inside(a.field_desc()), result(a.field_desc());
  import_spinor(outside, x);
  a.enter(inside, outside);
  a.apply(result, inside, dagger);
  a.leave(outside, result);
  HostSpinor y(x.dims);
  export_spinor(y, outside);
  return y;
}

inline std::vector<OperatorForm> all_forms() {
  std::vector<OperatorForm> forms;
  for (Precision p : {Precision::Double, Precision::Single, Precision::Half}) {
    for (Reconstruct r : {Reconstruct::R18, Reconstruct::R12, Reconstruct::R8}) {
      for (bool temporal : {false, true}) forms.push_back({p, r, temporal});
    }
  }
  return forms;
}

}  // namespace quadrille::testing
