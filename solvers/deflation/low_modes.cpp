#include "solvers/deflation/low_modes.h"

#include "core/blas/blas.h"
#include "core/field/convert.h"
#include "solvers/deflation/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace quadrille {

namespace {

/// Makes columns of length n orthonormal, in order; those that are in the span of others before are dropped.
void orthonormalize(std::vector<double>& columns, std::size_t n) {
  std::size_t kept = 0;
  for (std::size_t k = 0; k < columns.size() / n; ++k) {
    double* const to = columns.data() + kept * n;
    std::copy_n(columns.data() + k * n, n, to);
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < kept; ++j) {
        const double* const other = columns.data() + j * n;
        double overlap = 0;
        for (std::size_t i = 0; i < n; ++i) overlap += other[i] * to[i];
        for (std::size_t i = 0; i < n; ++i) to[i] -= overlap * other[i];
      }
    }
    double norm = 0;
    for (std::size_t i = 0; i < n; ++i) norm += to[i] * to[i];
    norm = std::sqrt(norm);
    if (!(norm > 1e-6)) continue;
    for (std::size_t i = 0; i < n; ++i) to[i] /= norm;
    ++kept;
  }
  columns.resize(kept * n);
}

}  // namespace

Precision kept_in(const LinearOperator& iterating) {
  return std::min(iterating.field_desc().precision, Precision::Single);
}

FieldDesc kept_as(const FieldDesc& desc, Precision precision) {
  return FieldDesc::of(desc.site, *desc.lattice, desc.subset, precision, *desc.backend);
}

LowModes::LowModes(const LinearOperator& iterating, int window, int wanted)
    : window_(std::size_t(window)),
      wanted_(std::size_t(wanted)),
      v_(kept_as(iterating.field_desc(), kept_in(iterating)), window_),
      combined_(kept_as(iterating.field_desc(), kept_in(iterating)), 2 * wanted_),
      t_(window_ * window_),
      scale_(window_),
      coupling_(window_) {}

void LowModes::begin(const Field& z, double z2) {
  convert(v_[0], z);
  std::fill(t_.begin(), t_.end(), 0.0);
  count_ = 1;
  scale_[0] = 1 / std::sqrt(z2);
  carried_ = 0;
  stepped_ = false;
}

void LowModes::step(double alpha) {
  t(count_ - 1, count_ - 1) = 1 / alpha + carried_;
  alpha_ = alpha;
  stepped_ = true;
}

void LowModes::take(const Field& z) {
  std::fill(coupling_.begin(), coupling_.end(), 0.0);
  coupling_[count_ - 1] = 1;
  if (count_ == window_) restart();
  convert(v_[count_++], z);
  stepped_ = false;
}

void LowModes::coupled(double beta, double z2) {
  const std::size_t last = count_ - 1;
  scale_[last] = 1 / std::sqrt(z2);
  for (std::size_t i = 0; i < last; ++i) t(i, last) = t(last, i) = -std::sqrt(beta) / alpha_ * coupling_[i];
  carried_ = beta / alpha_;
}

std::vector<double> LowModes::lowest(std::size_t size, std::size_t count) {
  std::vector<double> matrix(size * size), vectors;
  for (std::size_t i = 0; i < size; ++i) std::copy_n(&t(i, 0), size, matrix.data() + i * size);
  (void)symmetric_eigen(matrix, size, vectors);
  vectors.resize(std::min(size, count) * size);
  return vectors;
}

void LowModes::combine(std::vector<double> c, std::size_t length, std::size_t modes) {
  std::vector<Field*> to;
  for (std::size_t k = 0; k < modes; ++k) {
    for (std::size_t j = 0; j < length; ++j) c[k * length + j] *= scale_[j];
    blas::zero(combined_[k]);
    to.push_back(&combined_[k]);
  }
  blas::combine(c, std::span(v_.pointers()).first(length), to);
}

void LowModes::restart() {
  const std::size_t m = window_;
  std::vector<double> space = lowest(m, wanted_);
  const std::vector<double> shorter = lowest(m - 1, wanted_);
  for (std::size_t k = 0; k < shorter.size() / (m - 1); ++k) {
    const auto from = shorter.begin() + std::ptrdiff_t(k * (m - 1));
    space.insert(space.end(), from, from + std::ptrdiff_t(m - 1));
    space.push_back(0);
  }
  orthonormalize(space, m);
  const std::size_t kept = space.size() / m;
  std::vector<double> projected(kept * kept), small, line(m);
  for (std::size_t k = 0; k < kept; ++k) {
    for (std::size_t i = 0; i < m; ++i) {
      line[i] = 0;
      for (std::size_t j = 0; j < m; ++j) line[i] += t(i, j) * space[k * m + j];
    }
    for (std::size_t l = 0; l < kept; ++l) {
      double& sum = projected[l * kept + k];
      for (std::size_t i = 0; i < m; ++i) sum += space[l * m + i] * line[i];
    }
  }
  const std::vector<double> theta = symmetric_eigen(projected, kept, small);
  std::vector<double> modes(kept * m);
  for (std::size_t k = 0; k < kept; ++k) {
    for (std::size_t l = 0; l < kept; ++l) {
      for (std::size_t i = 0; i < m; ++i) modes[k * m + i] += small[k * kept + l] * space[l * m + i];
    }
  }
  combine(modes, m, kept);
  std::fill(t_.begin(), t_.end(), 0.0);
  std::fill(coupling_.begin(), coupling_.end(), 0.0);
  for (std::size_t k = 0; k < kept; ++k) {
    blas::copy(v_[k], combined_[k]);
    t(k, k) = theta[k];
    scale_[k] = 1;
    coupling_[k] = modes[k * m + m - 1];
  }
  count_ = kept;
}

void LowModes::for_each(Field& u, const std::function<void()>& use) {
  const std::size_t known = stepped_ ? count_ : count_ - std::min<std::size_t>(count_, 1);
  if (known == 0) return;
  const std::vector<double> modes = lowest(known, wanted_);
  const std::size_t found = modes.size() / known;
  combine(modes, known, found);
  for (std::size_t k = 0; k < found; ++k) {
    convert(u, combined_[k]);
    use();
  }
}

}  // namespace quadrille
