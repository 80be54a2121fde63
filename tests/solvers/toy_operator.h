// A site-local operator with chosen eigenvalues: a random 12 x 12 normal matrix on every even site. It knows all forms
// (the precision rounds its matrices and fields; "temporal gauge" is a random phase for each component), and can be
// told to misbehave. Everything a solver needs of an operator, without a Dirac operator.
#pragma once

#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/operator/operator.h"
#include "core/random/random.h"
#include "tests/testing/random_seed.h"

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <numbers>
#include <random>
#include <vector>

namespace quadrille::test {

using testing::next_seed;

/// Eigenvalues e^(i phi) rho: rho log-uniform in [smallest, largest], |phi| up to `angle`.
struct ToySpectrum {
  double smallest = 0.05;
  double largest = 1;
  double angle = 0;
  bool turned = false;       ///< phi = +-angle only: with pi/2 the operator is anti-hermitian
  int zero_modes = 0;        ///< of the 12 eigenvalues of every site
  double dagger_factor = 1;  ///< apply(Dagger::Yes) is the adjoint times this
};

struct ToyMatrices {
  std::vector<std::int64_t> sites;  ///< lexicographic, even
  std::vector<Complex> matrices;    ///< [site][12][12]
  std::vector<Complex> phases;      ///< [site][12]
};

inline ToyMatrices make_matrices(const Lattice& lattice, const ToySpectrum& spectrum, std::uint64_t seed) {
  ToyMatrices toy;
  for (std::int64_t index = 0; index < lattice.half_volume(); ++index) {
    const std::int64_t site = lattice.site(lattice.coordinates(Parity::Even, index));
    SiteRandom random(seed, RandomPurpose::Test, site);
    Complex q[12][12], value[12];
    for (int i = 0; i < 12; ++i) {  // rows of a random unitary matrix, by Gram and Schmidt
      for (Complex& c : q[i]) c = {random.normal(), random.normal()};
      for (int pass = 0; pass < 2; ++pass) {
        for (int j = 0; j < i; ++j) {
          Complex overlap = 0;
          for (int k = 0; k < 12; ++k) overlap += std::conj(q[j][k]) * q[i][k];
          for (int k = 0; k < 12; ++k) q[i][k] -= overlap * q[j][k];
        }
      }
      double norm = 0;
      for (const Complex& c : q[i]) norm += std::norm(c);
      for (Complex& c : q[i]) c /= std::sqrt(norm);
      const double rho = spectrum.smallest * std::pow(spectrum.largest / spectrum.smallest, random.uniform());
      const double u = 2 * random.uniform() - 1;
      const double phi = spectrum.angle * (spectrum.turned ? (u < 0 ? -1 : 1) : u);
      value[i] = i < spectrum.zero_modes ? Complex(0) : rho * Complex(std::cos(phi), std::sin(phi));
    }
    toy.sites.push_back(site);
    for (int row = 0; row < 12; ++row) {
      for (int column = 0; column < 12; ++column) {
        Complex sum = 0;
        for (int k = 0; k < 12; ++k) sum += q[k][row] * value[k] * std::conj(q[k][column]);
        toy.matrices.push_back(sum);
      }
    }
    for (int i = 0; i < 12; ++i) {
      const double angle = 2 * std::numbers::pi * random.uniform();
      toy.phases.emplace_back(std::cos(angle), std::sin(angle));
    }
  }
  return toy;
}

inline ToyMatrices repeat_matrix(const Lattice& lattice, const std::array<Complex, 144>& matrix) {
  ToyMatrices toy;
  for (std::int64_t index = 0; index < lattice.half_volume(); ++index) {
    toy.sites.push_back(lattice.site(lattice.coordinates(Parity::Even, index)));
    toy.matrices.insert(toy.matrices.end(), matrix.begin(), matrix.end());
    toy.phases.insert(toy.phases.end(), 12, 1);
  }
  return toy;
}

inline double rounded(double x, Precision precision) {
  if (precision == Precision::Double) return x;
  return precision == Precision::Single ? double(float(x)) : std::nearbyint(x * 32767) / 32767;
}

class ToyOperator final : public GaugeOperator {
 public:
  ToyOperator(const Lattice& lattice, const ToySpectrum& spectrum, std::uint64_t seed,
              const OperatorForm& form = {Precision::Double, Reconstruct::R18, false})
      : ToyOperator(lattice, spectrum, std::make_shared<ToyMatrices>(make_matrices(lattice, spectrum, seed)), form) {}

  /// The same 12 x 12 matrix (12 * row + column; row and column 3 * spin + color) on every site.
  ToyOperator(const Lattice& lattice, const std::array<Complex, 144>& matrix)
      : ToyOperator(lattice, {}, std::make_shared<ToyMatrices>(repeat_matrix(lattice, matrix)),
                    {Precision::Double, Reconstruct::R18, false}) {}

  const FieldDesc& field_desc() const override { return desc_; }
  const OperatorForm& form() const override { return form_; }
  double flops() const override { return 8.0 * 144 * double(original_->sites.size()); }

  void apply(Field& y, const Field& x, Dagger dagger) const override {
    require_same(y.desc(), desc_, "the toy operator");
    export_spinor(in_, x);
    const double factor = dagger == Dagger::Yes ? spectrum_.dagger_factor : 1;
#pragma omp parallel for
    for (std::size_t s = 0; s < original_->sites.size(); ++s) {
      const Complex* a = matrices_.data() + 144 * s;
      const Complex* from = in_.data.data() + 12 * original_->sites[s];
      Complex* to = out_.data.data() + 12 * original_->sites[s];
      for (int row = 0; row < 12; ++row) {
        double re = 0, im = 0;
        for (int k = 0; k < 12; ++k) {
          const Complex m = dagger == Dagger::Yes ? std::conj(a[12 * k + row]) : a[12 * row + k];
          re += m.real() * from[k].real() - m.imag() * from[k].imag();
          im += m.real() * from[k].imag() + m.imag() * from[k].real();
        }
        to[row] = {factor * re, factor * im};
      }
    }
    ++applications;
    if (broken_at >= 0 && applications >= broken_at) out_.data[std::size_t(12 * original_->sites[0])] = std::nan("");
    import_spinor(y, out_);
  }

  std::unique_ptr<GaugeOperator> converted(const OperatorForm& form) const override {
    if (form_.temporal_gauge) throw Error(ErrorCode::internal, "not in the original gauge");
    return std::unique_ptr<GaugeOperator>(new ToyOperator(*desc_.lattice, spectrum_, original_, form));
  }

  void enter(Field& mine, const Field& original) const override { cross(mine, original, false); }
  void leave(Field& original, const Field& mine) const override { cross(original, mine, true); }

  mutable int applications = 0;
  int broken_at =
      -1;  ///< this application and all later ones give a NaN: one alone may be that which is queued ahead and not used

 private:
  ToyOperator(const Lattice& lattice, const ToySpectrum& spectrum, std::shared_ptr<const ToyMatrices> original,
              const OperatorForm& form)
      : spectrum_(spectrum),
        original_(std::move(original)),
        form_(form),
        desc_(FieldDesc::spinor(lattice, Subset::Even, form.precision)),
        matrices_(original_->matrices),
        in_(lattice.dims()),
        out_(lattice.dims()) {
    for (std::size_t s = 0; s < original_->sites.size(); ++s) {
      const Complex* g = original_->phases.data() + 12 * s;
      for (std::size_t i = 0; i < 144; ++i) {
        Complex& m = matrices_[144 * s + i];
        if (form.temporal_gauge) m *= g[i / 12] * std::conj(g[i % 12]);
        m = {rounded(m.real(), form.precision), rounded(m.imag(), form.precision)};
      }
    }
  }

  void cross(Field& to, const Field& from, bool back) const {
    if (!form_.temporal_gauge) {
      convert(to, from);
      return;
    }
    export_spinor(in_, from);
    for (std::size_t s = 0; s < original_->sites.size(); ++s) {
      for (std::size_t i = 0; i < 12; ++i) {
        const Complex g = original_->phases[12 * s + i];
        in_.data[12 * std::size_t(original_->sites[s]) + i] *= back ? std::conj(g) : g;
      }
    }
    import_spinor(to, in_);
  }

  ToySpectrum spectrum_;
  std::shared_ptr<const ToyMatrices> original_;
  OperatorForm form_;
  FieldDesc desc_;
  std::vector<Complex> matrices_;
  mutable HostSpinor in_, out_;
};

/// The toy operator on the even sites, twice the unit matrix on the odd ones.
class ToySystem final : public LinearSystem {
 public:
  ToySystem(const Lattice& lattice, const ToySpectrum& spectrum, std::uint64_t seed)
      : ToySystem(lattice, std::make_unique<ToyOperator>(lattice, spectrum, seed)) {}

  const GaugeOperator& reduced() const override { return *reduced_; }
  const FieldDesc& full_desc() const override { return full_; }
  double prepare(Field& rhs, const Field& b) const override {
    const Field even = b.parity(Parity::Even);
    blas::copy(rhs, even);
    return 1;
  }
  void reconstruct(Field& x, const Field& reduced, const Field& b) const override {
    Field even = x.parity(Parity::Even), odd = x.parity(Parity::Odd);
    const Field odd_b = b.parity(Parity::Odd);
    blas::copy(even, reduced);
    blas::copy(odd, odd_b);
    blas::scale(0.5, odd);
  }
  double full_residual(Field& r, const Field& x, const Field& b) const override {
    Field even = r.parity(Parity::Even), odd = r.parity(Parity::Odd);
    const Field even_x = x.parity(Parity::Even), odd_x = x.parity(Parity::Odd);
    reduced_->apply(even, even_x, Dagger::No);
    blas::copy(odd, odd_x);
    blas::scale(2, odd);
    return std::sqrt(blas::subtract_norm2(b, r));
  }
  std::unique_ptr<LinearSystem> converted(const OperatorForm& form) const override {
    return std::unique_ptr<LinearSystem>(new ToySystem(*full_.lattice, reduced_->converted(form)));
  }

 private:
  ToySystem(const Lattice& lattice, std::unique_ptr<GaugeOperator> reduced)
      : reduced_(std::move(reduced)), full_(FieldDesc::spinor(lattice, Subset::Full, reduced_->form().precision)) {}

  std::unique_ptr<GaugeOperator> reduced_;
  FieldDesc full_;
};

/// |b - A x| / |b|, not by the solver.
inline double relative_residual(const LinearOperator& a, const Field& x, const Field& b) {
  Field r(a.field_desc());
  a.apply(r, x, Dagger::No);
  blas::axpy(-1, b, r);
  return std::sqrt(blas::norm2(r) / blas::norm2(b));
}

/// Whether two fields hold the same numbers, bit by bit in double.
inline bool same_bits(const Field& a, const Field& b) {
  HostSpinor x(a.lattice().dims()), y(b.lattice().dims());
  export_spinor(x, a);
  export_spinor(y, b);
  return x.data == y.data;
}

}  // namespace quadrille::test
