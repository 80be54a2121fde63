// Site-local terms on the host, for tests: chiral blocks as matrices, and what terms do with a spinor.
#pragma once

#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "tests/dirac/dirac_testing.h"

#include <array>
#include <complex>
#include <vector>

namespace quadrille::testing {

using Block = std::array<std::array<Complex, 6>, 6>;
/// A Hermitian matrix for each chirality of a site, on [spin 2][color 3] of it in the DeGrand-Rossi basis.
using SiteBlocks = std::array<Block, 2>;

inline std::vector<SiteBlocks> random_blocks(std::int64_t sites) {
  std::vector<SiteBlocks> all(static_cast<std::size_t>(sites));
  SiteRandom random(next_seed(), RandomPurpose::Test, 0);
  for (SiteBlocks& site : all) {
    for (Block& b : site) {
      for (int i = 0; i < 6; ++i) {
        b[i][i] = 4 + random.normal();
        for (int j = 0; j < i; ++j) {
          const double re = random.normal(), im = random.normal();
          b[i][j] = {re, im};
          b[j][i] = std::conj(b[i][j]);
        }
      }
    }
  }
  return all;
}

/// In the internal basis chirality + is (p1, -p0) and chirality - (p3, -p2) of DeGrand-Rossi spins
/// (core/field/spin_basis.h).
inline constexpr int host_spin[2] = {1, 0};
inline double host_sign(int spin) { return spin == 0 ? 1 : -1; }

/// As kernels read them, halved; `sites` are in the order of the whole lattice.
inline Field stored(const FieldDesc& desc, const std::vector<SiteBlocks>& sites) {
  Field field(desc);
  HostImage image = HostImage::fresh(field);
  const Lattice& lattice = field.lattice();
  with_number_type(field.desc().precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    for (Parity p : {Parity::Even, Parity::Odd}) {
      const Access access(image.field(), p);
      for (std::int64_t site = 0; site < lattice.half_volume(); ++site) {
        const SiteBlocks& b = sites[std::size_t(lattice.site(lattice.coordinates(p, site)))];
        typename Access::Real numbers[72];
        for (int chirality = 0; chirality < 2; ++chirality) {
          typename Access::Real* out = numbers + 36 * chirality;
          const auto element = [&](int i, int j) {
            return 0.5 * host_sign(i / 3) * host_sign(j / 3) *
                   b[chirality][3 * host_spin[i / 3] + i % 3][3 * host_spin[j / 3] + j % 3];
          };
          int k = 6;
          for (int i = 0; i < 6; ++i) {
            out[i] = typename Access::Real(element(i, i).real());
            for (int j = 0; j < i; ++j) {
              out[k++] = typename Access::Real(element(i, j).real());
              out[k++] = typename Access::Real(element(i, j).imag());
            }
          }
        }
        access.store(site, numbers);
      }
    }
  });
  image.write_back();
  return field;
}

/// number B v + i twist gamma_5 C v, B and C where the term has them.
inline HostSpinor term(const SiteTerm& t, const std::vector<SiteBlocks>& b, const std::vector<SiteBlocks>& c,
                       const HostSpinor& v) {
  HostSpinor out(v.dims);
  for (std::size_t site = 0; site < v.data.size() / 12; ++site) {
    for (int chirality = 0; chirality < 2; ++chirality) {
      const Complex* in = v.data.data() + site * 12 + 6 * chirality;
      Complex* result = out.data.data() + site * 12 + 6 * chirality;
      const auto add = [&](Complex factor, const std::vector<SiteBlocks>* blocks) {
        for (int i = 0; i < 6; ++i) {
          if (blocks == nullptr) result[i] += factor * in[i];
          for (int j = 0; j < 6 && blocks != nullptr; ++j)
            result[i] += factor * (*blocks)[site][chirality][i][j] * in[j];
        }
      };
      add(t.number, t.blocks != nullptr ? &b : nullptr);
      add({0, chirality == 0 ? t.twist : -t.twist}, t.twist_blocks != nullptr ? &c : nullptr);
    }
  }
  return out;
}

inline HostSpinor sum(const HostSpinor& a, const HostSpinor& b) {
  HostSpinor c(a.dims);
  for (std::size_t i = 0; i < a.data.size(); ++i) c.data[i] = a.data[i] + b.data[i];
  return c;
}

/// The links that an operator reads.
inline HostLinks links_of(const Dslash& dslash) {
  HostLinks links(dslash.field_desc().lattice->dims());
  export_links(links, dslash.links().spatial);
  export_links(links, dslash.links().time);
  return links;
}

/// D x of M = diagonal - D / 2.
inline HostSpinor hopped(const Scene& scene, const HostLinks& links, const HostSpinor& x, Dagger dagger) {
  HostSpinor out = reference::wilson(links, scene.setup(), x, dagger == Dagger::Yes);
  for (std::size_t i = 0; i < out.data.size(); ++i)
    out.data[i] = 2.0 * (scene.parameters.diagonal() * x.data[i] - out.data[i]);
  return out;
}

}  // namespace quadrille::testing
