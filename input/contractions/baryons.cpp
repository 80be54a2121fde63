#include "input/contractions/baryons.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "input/contractions/baryon_kernels.h"
#include "input/contractions/gamma.h"

#include <algorithm>
#include <deque>

namespace quadrille {

namespace {

/// gt A^* gt^T: what B^+ gt makes of the matrix A of B.
SpinMatrix of_source(const SpinMatrix& sink) {
  SpinMatrix conjugate = sink;
  for (auto& row : conjugate)
    for (Complex& number : row) number = std::conj(number);
  return of_gamma("gt") * conjugate * of_gamma("gt");  // gt is symmetric
}

std::vector<SpinNumber> numbers_of(const SpinMatrix& matrix) {
  std::vector<SpinNumber> out;
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j)
      if (const Complex z = matrix[std::size_t(i)][std::size_t(j)]; z != 0.0) out.push_back({i, j, z.real(), z.imag()});
  return out;
}

SpinMatrix parity_projector(bool negative) { return of_gamma("1", 0.5) + of_gamma("gt", negative ? -0.5 : 0.5); }

/// Three like quarks: six ways to join them, in two kinds; half of them for the mean of two spins.
std::vector<BaryonOperator> delta_operators(const SpinMatrix& parity) {
  std::vector<BaryonOperator> out;
  for (const double up : {1.0, -1.0}) {
    const SpinMatrix both = of_gamma("gx", 0.5) + of_gamma("gy", Complex(0, -0.5 * up));
    const SpinMatrix spin = of_gamma("1", 0.5) + of_gamma("gxgy", Complex(0, -0.5 * up));
    const SpinMatrix sink = of_gamma("gygt") * both;
    out.push_back({sink, of_source(sink), parity * spin, 1, 2});
  }
  return out;
}

/// The terms of baryons, with the numbers that they point at.
class BaryonPlan {
 public:
  explicit BaryonPlan(const std::vector<std::string>& names) {
    for (int output = 0; output < int(names.size()); ++output) {
      for (const BaryonOperator& baryon : baryon_operators(names[std::size_t(output)])) add(baryon, output);
    }
  }
  BaryonPlan(const BaryonPlan&) = delete;
  const std::vector<BaryonTerm>& terms() const { return terms_; }

 private:
  void add(const BaryonOperator& baryon, int output) {
    const auto& a = numbers_.emplace_back(numbers_of(baryon.sink));
    const auto& b = numbers_.emplace_back(numbers_of(baryon.source));
    const auto& p = numbers_.emplace_back(numbers_of(baryon.projector));
    terms_.push_back({a.data(), int(a.size()), b.data(), int(b.size()), p.data(), int(p.size()), baryon.direct,
                      baryon.exchange, output});
  }

  std::deque<std::vector<SpinNumber>> numbers_;
  std::vector<BaryonTerm> terms_;
};

BaryonKernel baryon_kernel_for(int lanes) {
  const BaryonKernel kernel = QUADRILLE_OF_ISA(isa_of_lanes(lanes, Precision::Double), baryon_kernel)(lanes);
  if (kernel == nullptr)
    throw Error(ErrorCode::internal, "no baryon kernel works on " + std::to_string(lanes) + " lanes");
  return kernel;
}

}  // namespace

const std::vector<std::string>& baryon_names() {
  static const std::vector<std::string> names = {"nucleon", "nucleon_negative", "nucleon_nr", "delta",
                                                 "delta_negative"};
  return names;
}

std::vector<BaryonOperator> baryon_operators(const std::string& name) {
  const auto& names = baryon_names();
  if (std::find(names.begin(), names.end(), name) == names.end())
    throw Error(ErrorCode::internal, "no baryon is called '" + name + "'");
  const SpinMatrix parity = parity_projector(name.ends_with("_negative"));
  if (name.starts_with("delta")) return delta_operators(parity);
  SpinMatrix sink = of_gamma("gygt") * of_gamma("g5");
  if (name == "nucleon_nr") sink = sink * parity;
  return {{sink, of_source(sink), parity, 1, 1}};
}

SpaceSums baryon_correlators(const ReadablePropagator& like, const ReadablePropagator& other,
                             const std::vector<std::string>& names, const std::vector<Momentum>& momenta,
                             const Dims& x0) {
  require_same(like.desc(), other.desc(), "quarks of a baryon");
  const BaryonPlan plan(names);
  const BaryonKernel kernel = baryon_kernel_for(like.desc().layout.lanes);
  const PropagatorBlocks u = like.blocks(), d = other.blocks();
  const BaryonProblem problem{&u, &*like == &*other ? &u : &d, plan.terms().data(), int(plan.terms().size())};
  return sum_over_space(like.desc(), momenta, x0, int(names.size()),
                        std::size_t(baryon_scratch(like.desc().layout.lanes)),
                        [&](const Plane& plane, double* scratch) { kernel(problem, plane, scratch); });
}

}  // namespace quadrille
