#include "input/bench/extended_hop.h"

namespace quadrille::bench {
namespace {

/// The only element of a row of a gamma matrix that is not zero.
struct Element {
  int column;
  Extended value;
};

const Extended i{0, 1};
// DeGrand-Rossi: gamma_k = [[0, i s_k], [-i s_k, 0]] with (s_1, -s_2, s_3), gamma_4 = [[0, 1], [1, 0]].
const Element gammas[4][4] = {{{3, i}, {2, i}, {1, -i}, {0, -i}},
                              {{3, -1}, {2, 1}, {1, 1}, {0, -1}},
                              {{2, i}, {3, -i}, {0, -i}, {1, i}},
                              {{2, 1}, {3, 1}, {0, 1}, {1, 1}}};

/// out += sign (1 -+ gamma_mu) U psi, with - and U for the forward hop, + and U^+ for the backward one.
void add_hop(Extended* out, const Complex* u, const Complex* psi, int mu, bool forward, long double sign) {
  for (int s = 0; s < 4; ++s) {
    const Element& gamma = gammas[mu][s];
    Extended projected[3];
    for (int c = 0; c < 3; ++c) {
      const Extended turned = gamma.value * Extended(psi[gamma.column * 3 + c]);
      projected[c] = sign * (Extended(psi[s * 3 + c]) + (forward ? -turned : turned));
    }
    for (int row = 0; row < 3; ++row) {
      for (int c = 0; c < 3; ++c) {
        out[s * 3 + row] += Extended(forward ? u[3 * row + c] : std::conj(u[3 * c + row])) * projected[c];
      }
    }
  }
}

}  // namespace

std::vector<Extended> extended_hop(const HostLinks& links, const HostSpinor& psi) {
  const Dims& dims = links.dims;
  const std::int64_t strides[4] = {1, dims[0], std::int64_t(dims[0]) * dims[1],
                                   std::int64_t(dims[0]) * dims[1] * dims[2]};
  std::vector<Extended> out(psi.data.size());
#pragma omp parallel for
  for (std::int64_t site = 0; site < volume(dims); ++site) {
    for (int mu = 0; mu < 4; ++mu) {
      const std::int64_t x = site / strides[mu] % dims[mu], slice = site - x * strides[mu];
      const bool last = x == dims[mu] - 1, first = x == 0;
      const std::int64_t ahead = slice + (last ? 0 : x + 1) * strides[mu];
      const std::int64_t behind = slice + (first ? dims[mu] - 1 : x - 1) * strides[mu];
      Extended* here = out.data() + site * 12;
      add_hop(here, links.link(site, mu), psi.data.data() + ahead * 12, mu, true, mu == 3 && last ? -1 : 1);
      add_hop(here, links.link(behind, mu), psi.data.data() + behind * 12, mu, false, mu == 3 && first ? -1 : 1);
    }
  }
  return out;
}

}  // namespace quadrille::bench
