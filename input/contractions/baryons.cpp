#include "input/contractions/baryons.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "input/contractions/baryon_kernels.h"
#include "input/contractions/gamma.h"

#include <array>
#include <deque>

namespace quadrille {

namespace {

using SpinMatrix = std::array<std::array<Complex, 4>, 4>;

SpinMatrix of_gamma(const std::string& name, Complex factor = 1) {
  constexpr Complex powers[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
  const Gamma gamma = gamma_named(name);
  SpinMatrix out{};
  for (std::size_t row = 0; row < 4; ++row)
    out[row][std::size_t(gamma.column[row])] = factor * powers[gamma.power[row]];
  return out;
}

SpinMatrix operator+(SpinMatrix a, const SpinMatrix& b) {
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j) a[i][j] += b[i][j];
  return a;
}

SpinMatrix operator*(const SpinMatrix& a, const SpinMatrix& b) {
  SpinMatrix out{};
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 4; ++j)
      for (std::size_t k = 0; k < 4; ++k) out[i][k] += a[i][j] * b[j][k];
  return out;
}

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

/// The terms of baryons, with the numbers that they point at.
class BaryonPlan {
 public:
  explicit BaryonPlan(const std::vector<std::string>& names) {
    for (int output = 0; output < int(names.size()); ++output) add(names[std::size_t(output)], output);
  }
  BaryonPlan(const BaryonPlan&) = delete;
  const std::vector<BaryonTerm>& terms() const { return terms_; }

 private:
  void add(const std::string& name, int output) {
    const SpinMatrix charge = of_gamma("gygt"), half = of_gamma("1", 0.5);
    const SpinMatrix parity = half + of_gamma("gt", name.ends_with("_negative") ? -0.5 : 0.5);
    if (name.starts_with("nucleon")) return add(charge * of_gamma("g5"), parity, 1, 1, output);
    if (!name.starts_with("delta")) throw Error(ErrorCode::internal, "no baryon is called '" + name + "'");
    for (const double up : {1.0, -1.0}) {
      const SpinMatrix both = of_gamma("gx", 0.5) + of_gamma("gy", Complex(0, -0.5 * up));
      const SpinMatrix spin = half + of_gamma("gxgy", Complex(0, -0.5 * up));
      // Three like quarks: six ways to join them, in two kinds; half of them for the mean of two spins.
      add(charge * both, parity * spin, 1, 2, output);
    }
  }

  void add(const SpinMatrix& sink, const SpinMatrix& projector, double direct, double exchange, int output) {
    const auto& a = numbers_.emplace_back(numbers_of(sink));
    const auto& b = numbers_.emplace_back(numbers_of(of_source(sink)));
    const auto& p = numbers_.emplace_back(numbers_of(projector));
    terms_.push_back(
        {a.data(), int(a.size()), b.data(), int(b.size()), p.data(), int(p.size()), direct, exchange, output});
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
  static const std::vector<std::string> names = {"nucleon", "nucleon_negative", "delta", "delta_negative"};
  return names;
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
