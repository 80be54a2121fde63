// What the tests of a host's arrays share: links and spinors in its order, and their operator.
#pragma once

#include "tests/input/capi/host.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <string>
#include <vector>

namespace quadrille::testing {

constexpr Dims dims{4, 6, 2, 8};
const reference::WilsonSetup setup{.mass = 0.137, .xi0 = 1.3, .nu = 0.9, .boundary = {0, 0.25, 0, 1}};
constexpr const char* operator_words =
    "{type: wilson, mass: 0.137, anisotropy: {xi0: 1.3, nu: 0.9}, "
    "boundary: [periodic, {phase: 0.25}, periodic, antiperiodic]}";

inline HostLinks random_links() { return hot_start(Lattice(dims), next_seed()); }

inline std::vector<LinkLayout> link_layouts() {
  std::vector<LinkLayout> all;
  for (bool qdp : {false, true})
    for (bool even_odd : {false, true})
      for (bool columns : {false, true})
        for (bool single : {false, true}) all.push_back({qdp, even_odd, columns, single});
  return all;
}

enum class Basis { degrand_rossi, ukqcd, openqcd };
inline const char* name(Basis basis) {
  return basis == Basis::ukqcd ? "ukqcd" : basis == Basis::openqcd ? "openqcd" : "degrand_rossi";
}

struct SpinorLayout {
  bool even_odd = false, color_spin = false, single = false;
  Basis basis = Basis::degrand_rossi;

  std::string words(const std::string& more = "") const {
    return fmt::format("{{sites: {}, order: {}, precision: {}, basis: {}{}}}", even_odd ? "even_odd" : "lexicographic",
                       color_spin ? "color_spin" : "spin_color", single ? "single" : "double", name(basis), more);
  }
};

template <class Real>
std::vector<std::complex<Real>> laid_out(const HostSpinor& psi, const SpinorLayout& layout) {
  std::vector<std::complex<Real>> out(psi.data.size());
  const auto place = places(psi.dims, layout.even_odd);
  for (std::size_t site = 0; site < place.size(); ++site)
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t c = 0; c < 3; ++c)
        out[std::size_t(place[site]) * 12 + (layout.color_spin ? c * 4 + s : s * 3 + c)] =
            std::complex<Real>(psi.data[site * 12 + s * 3 + c]);
  return out;
}

template <class Real>
HostSpinor read_back(const std::vector<std::complex<Real>>& array, const SpinorLayout& layout) {
  HostSpinor out(dims);
  const auto place = places(dims, layout.even_odd);
  for (std::size_t site = 0; site < place.size(); ++site)
    for (std::size_t s = 0; s < 4; ++s)
      for (std::size_t c = 0; c < 3; ++c)
        out.data[site * 12 + s * 3 + c] =
            Complex(array[std::size_t(place[site]) * 12 + (layout.color_spin ? c * 4 + s : s * 3 + c)]);
  return out;
}

template <class Real>
HostSpinor multiplied(quadrille_operator* op, quadrille_product product, const HostSpinor& psi,
                      const SpinorLayout& layout) {
  const auto in = laid_out<Real>(psi, layout);
  std::vector<std::complex<Real>> out(in.size());
  const void* from = in.data();
  void* to = out.data();
  EXPECT_EQ(quadrille_operator_apply(op, product, layout.words().c_str(), &from, &to, 1), QUADRILLE_DONE)
      << quadrille_message(nullptr);
  return read_back(out, layout);
}

inline double distance(const std::vector<Complex>& a, const std::vector<Complex>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::norm(a[i] - b[i]);
    size += std::norm(b[i]);
  }
  return std::sqrt(difference / size);
}

/// Links with the factor exp(i pi phase) on those that leave the last slice of each direction.
inline HostLinks with_factors(HostLinks links, const std::array<double, 4>& phases) {
  const Lattice lattice(dims);
  for (std::int64_t site = 0; site < lattice.volume(); ++site)
    for (std::size_t mu = 0; mu < 4; ++mu) {
      if (lattice.coordinates(site)[mu] != dims[mu] - 1) continue;
      for (int n = 0; n < 9; ++n) links.link(site, int(mu))[n] *= std::polar(1.0, M_PI * phases[mu]);
    }
  return links;
}

}  // namespace quadrille::testing
