#include "modules/block_dft/scf/scc_model.h"

#include "core/error.h"
#include "core/system/team.h"
#include "modules/block_dft/device.h"
#include "modules/block_dft/functions/matrix_functions.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {
namespace {

using Matrix = BlockMatrix<double>;

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::invalid_input, message); }

double distance(const AtomPositions& positions, std::size_t a, std::size_t b) {
  double squares = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) {
    double d = positions.at[a][axis] - positions.at[b][axis];
    const double edge = positions.cell[axis];
    if (edge > 0) d -= edge * std::round(d / edge);
    squares += d * d;
  }
  return std::sqrt(squares);
}

void require_interaction(const AtomPositions& positions, const ChargeInteraction& options) {
  const auto require = [](double value, const char* name) {
    if (!(value >= 0) || std::isinf(value))
      refuse(fmt::format("{} = {}: it must be 0 or above, and finite", name, value));
  };
  require(options.hubbard, "the Hubbard parameter");
  require(options.screening, "the screening length");
  require(options.cutoff, "the cutoff");
  for (const double edge : positions.cell) require(edge, "an edge of the cell");
  for (std::size_t a = 0; a < positions.at.size(); ++a) {
    for (const double x : positions.at[a]) {
      if (!std::isfinite(x)) refuse(fmt::format("atom {} is at {}: positions must be finite", a, x));
    }
  }
}

}  // namespace

template <class M>
void require_model(const SccModel<M>& model) {
  require_same(model.h0.rows(), model.s.rows(), "H and S");
  require_symmetric_input(model.h0, "H");
  require_symmetric_input(model.s, "S");
  if (!model.charged()) return;
  const std::size_t atoms = std::size_t(model.h0.rows().count());
  require_symmetric_input(model.gamma, "gamma");
  require_same(model.gamma.rows(), BlockSizes(std::vector<std::int32_t>(atoms, 1)), "gamma, one number for two atoms,");
  if (model.neutral.size() != atoms) {
    refuse(fmt::format("there are {} neutral charges for {} atoms: there must be one for each", model.neutral.size(),
                       atoms));
  }
}

template <class M>
std::vector<double> mulliken_charges(const M& p, const M& s) {
  require_same(p.rows(), s.rows(), "P and S");
  return row_dots(s, p);
}

template <class M>
std::vector<double> charge_potential(const SccModel<M>& model, const std::vector<double>& charges) {
  std::vector<double> out(charges.size());
  model.gamma.for_each([&](std::int32_t a, std::int32_t b, std::int64_t slot) {
    const std::size_t i = std::size_t(a), j = std::size_t(b);
    const double gamma = *model.gamma.block(slot);
    out[i] += gamma * (charges[j] - model.neutral[j]);
    if (i != j) out[j] += gamma * (charges[i] - model.neutral[i]);
  });
  return out;
}

template <class M>
M scc_hamiltonian(const SccModel<M>& model, const std::vector<double>& charges) {
  if (!model.charged()) return copied(model.h0);
  M out = copied(model.s);
  scale_by_means(out, charge_potential(model, charges));
  add(1.0, out, 1.0, model.h0);
  return out;
}

template <class M>
double charge_energy(const SccModel<M>& model, const std::vector<double>& charges) {
  if (!model.charged()) return 0;
  const std::vector<double> potential = charge_potential(model, charges);
  double sum = 0;
  for (std::size_t a = 0; a < model.neutral.size(); ++a) sum += potential[a] * (charges[a] - model.neutral[a]);
  return sum / 2;
}

Matrix charge_interaction(const AtomPositions& positions, const ChargeInteraction& options) {
  constexpr double negligible = 27.6;  // exp(-27.6) = 1e-12
  require_interaction(positions, options);
  const std::size_t atoms = positions.at.size();
  const BlockSizes sizes(std::vector<std::int32_t>(atoms, 1));
  const double reach = options.cutoff > 0 ? options.cutoff : negligible * options.screening;
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  std::vector<double> values;
  for (std::size_t a = 0; a < atoms; ++a) {
    column.push_back(std::int32_t(a));
    values.push_back(options.hubbard);
    for (std::size_t b = a + 1; b < atoms && options.screening > 0 && options.hubbard > 0; ++b) {
      const double r = distance(positions, a, b);
      if (r == 0) refuse(fmt::format("atoms {} and {} are at the same place", a, b));
      if (r > reach) continue;
      column.push_back(std::int32_t(b));
      values.push_back(std::exp(-r / options.screening) / std::sqrt(r * r + 1 / (options.hubbard * options.hubbard)));
    }
    first.push_back(std::int64_t(column.size()));
  }
  Matrix out = Matrix::with_pattern(sizes, sizes, Symmetry::symmetric, std::move(first), std::move(column));
  for (std::int64_t slot = 0; slot < out.block_count(); ++slot) *out.block(slot) = values[std::size_t(slot)];
  return out;
}

#define QUADRILLE_SCC_MODEL(M)                                                                   \
  template void require_model(const SccModel<M>&);                                               \
  template std::vector<double> mulliken_charges(const M&, const M&);                             \
  template std::vector<double> charge_potential(const SccModel<M>&, const std::vector<double>&); \
  template M scc_hamiltonian(const SccModel<M>&, const std::vector<double>&);                    \
  template double charge_energy(const SccModel<M>&, const std::vector<double>&);
QUADRILLE_FOR_MATRICES(QUADRILLE_SCC_MODEL)
#undef QUADRILLE_SCC_MODEL

}  // namespace quadrille::block_dft
