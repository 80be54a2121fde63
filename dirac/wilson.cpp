#include "dirac/wilson.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/field/convert.h"

#include <cmath>
#include <utility>

namespace quadrille {
namespace {

constexpr double hop_flops = 1320, diagonal_flops = 48;  // a site

}  // namespace

WilsonOperator::WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters,
                               const OperatorForm& form)
    : parameters_(parameters),
      dslash_("wilson", std::move(gauge), {parameters.boundary, parameters.nu / parameters.xi0}, form),
      full_(dslash_.field_desc()) {
  full_.subset = Subset::Full;
}

void WilsonOperator::apply(Field& y, const Field& x, Dagger dagger) const {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    Field result = y.parity(p);
    dslash_.apply(result, x.parity(opposite(p)), dagger, -0.5, parameters_.diagonal(), x.parity(p));
  }
}

double WilsonOperator::flops() const { return (hop_flops + diagonal_flops) * double(full_.lattice->volume()); }

double WilsonOperator::preconditioned_flops() const {
  return (2 * hop_flops + diagonal_flops) * double(full_.lattice->half_volume());
}

// H = -D/2 and A is a number.
void WilsonOperator::subtract_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const {
  dslash_.apply(y, x, dagger, 0.5, 1, z);
}

void WilsonOperator::inverse_diagonal_hop(Field& y, const Field& x, Dagger dagger) const {
  dslash_.apply(y, x, dagger, -0.5 / parameters_.diagonal());
}

void WilsonOperator::diagonal_minus_hop(Field& y, const Field& z, const Field& x, Dagger dagger) const {
  dslash_.apply(y, x, dagger, 0.5, parameters_.diagonal(), z);
}

void WilsonOperator::inverse_diagonal(Field& y, Dagger) const { blas::scale(1 / parameters_.diagonal(), y); }

std::unique_ptr<DiracOperator> WilsonOperator::converted_dirac(const OperatorForm& form) const {
  if (dslash_.form().temporal_gauge) throw Error(ErrorCode::internal, "conversion of a gauge-fixed operator");
  return std::make_unique<WilsonOperator>(dslash_.gauge(), parameters_, form);
}

void WilsonOperator::enter(Field& mine, const Field& original) const {
  if (form().temporal_gauge) {
    dslash_.links().gauge->transform(mine, original);
  } else {
    convert(mine, original);
  }
}

void WilsonOperator::leave(Field& original, const Field& mine) const {
  if (form().temporal_gauge) {
    dslash_.links().gauge->restore(original, mine);
  } else {
    convert(original, mine);
  }
}

const ParameterTable& WilsonOperator::table() {
  static const ParameterTable table = [] {
    const Parameter mass{.name = "mass", .type = ParameterType::real, .help = "bare quark mass", .unit = "1/a"};
    const Parameter kappa{.name = "kappa",
                          .type = ParameterType::real,
                          .help = "hopping parameter: mass = 1/(2 kappa) - 4",
                          .minimum = 0,
                          .minimum_open = true};
    const Parameter xi0{.name = "xi0",
                        .type = ParameterType::real,
                        .help = "bare gauge anisotropy; spatial hopping terms have the factor nu/xi0",
                        .default_text = "1",
                        .minimum = 0,
                        .minimum_open = true};
    const Parameter nu{.name = "nu",
                       .type = ParameterType::real,
                       .help = "bare fermion anisotropy",
                       .default_text = "1",
                       .minimum = 0,
                       .minimum_open = true};
    const Parameter anisotropy{.name = "anisotropy",
                               .type = ParameterType::group,
                               .help = "anisotropic lattice",
                               .default_text = "{}",
                               .members = {xi0, nu}};
    const Parameter boundary{.name = "boundary",
                             .type = ParameterType::boundary,
                             .help =
                                 "fermion boundary conditions in x, y, z, t; {phase: theta/pi} multiplies the forward "
                                 "link out of the last slice by exp(i theta)",
                             .required = true};
    return ParameterTable{
        .name = "operator wilson",
        .help =
            "Wilson fermions: M = (m + 1 + 3 nu/xi0) - D/2 with D psi(x) = sum_mu c_mu [(1 - gamma_mu) "
            "U_mu(x) psi(x+mu) + (1 + gamma_mu) U_mu(x-mu)^+ psi(x-mu)], c = nu/xi0 in space, 1 in "
            "time; DeGrand-Rossi gamma matrices: gamma_k = [[0, i s_k], [-i s_k, 0]], s = (sigma_1, "
            "-sigma_2, sigma_3), gamma_t = [[0, 1], [1, 0]]",
        .parameters = {mass, kappa, anisotropy, boundary},
        .exactly_one_of = {{"mass", "kappa"}}};
  }();
  return table;
}

WilsonParameters WilsonOperator::from(const Parameters& job) {
  WilsonParameters parameters;
  parameters.mass = job.has("mass") ? job.real("mass") : 1 / (2 * job.real("kappa")) - 4;
  parameters.xi0 = job.group("anisotropy").real("xi0");
  parameters.nu = job.group("anisotropy").real("nu");
  parameters.boundary = job.boundary("boundary");
  if (!std::isfinite(parameters.mass)) {
    throw Error(ErrorCode::invalid_input, "kappa is too small: the mass 1/(2 kappa) - 4 overflows in double precision",
                job.where("kappa"));
  }
  const double scale = std::abs(parameters.mass) + 1 + 3 * parameters.nu / parameters.xi0;
  if (std::abs(parameters.diagonal()) <= 1e-12 * scale) {
    throw Error(ErrorCode::invalid_input,
                "the mass makes the site-diagonal part of M zero, and even-odd preconditioning divides by it: "
                "choose another mass",
                job.where(job.has("mass") ? "mass" : "kappa"));
  }
  return parameters;
}

}  // namespace quadrille
