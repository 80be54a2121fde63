#include "dirac/wilson.h"

#include "core/blas/blas.h"
#include "core/error.h"
#include "core/field/convert.h"

#include <cmath>
#include <deque>
#include <utility>

namespace quadrille {
namespace {

constexpr double hop_flops = 1320;

constexpr double number_flops = 48, twist_flops = 48, blocks_flops = 504;  // the last is the standard count

/// Of A on a site, added to the hops.
double diagonal_flops(const WilsonParameters& parameters) {
  const double twist = parameters.mu == 0 ? 0 : twist_flops;
  return twist + (parameters.has_clover() ? blocks_flops + 24 : number_flops);
}
/// Of A^-1: a number is part of the hops.
double inverse_flops(const WilsonParameters& parameters) {
  if (!parameters.has_clover()) return parameters.mu == 0 ? 0 : 24 + twist_flops;
  return parameters.mu == 0 ? blocks_flops : 2 * blocks_flops + twist_flops;
}

double sign(Dagger dagger) { return dagger == Dagger::Yes ? -1 : 1; }

std::shared_ptr<CloverBlocks> clover_of(const std::shared_ptr<const GaugeStore>& gauge, const WilsonParameters& w) {
  return w.has_clover() ? std::make_shared<CloverBlocks>(gauge, w.clover_term()) : nullptr;
}

}  // namespace

WilsonOperator::WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters,
                               const OperatorForm& form)
    : WilsonOperator(gauge, parameters, form, clover_of(gauge, parameters)) {}

WilsonOperator::WilsonOperator(std::shared_ptr<const GaugeStore> gauge, const WilsonParameters& parameters,
                               const OperatorForm& form, std::shared_ptr<CloverBlocks> clover)
    : parameters_(parameters),
      dslash_("wilson", std::move(gauge),
              {parameters.boundary, parameters.nu / parameters.xi0, parameters.chemical_potential}, form),
      full_(dslash_.field_desc()),
      clover_(std::move(clover)) {
  full_.subset = Subset::Full;
}

SiteTerm WilsonOperator::a(double factor, Dagger dagger) const {
  const double twist = factor * sign(dagger) * parameters_.mu;
  if (!clover_) return {factor * parameters_.diagonal(), twist};
  clover_->update();
  return {factor, twist, &clover_->blocks(form())};
}

// (a + i mu gamma_5)^-1 = (a - i mu gamma_5) / (a^2 + mu^2), and so with matrices a
SiteTerm WilsonOperator::inverse_a(double factor, Dagger dagger) const {
  const double diagonal = parameters_.diagonal(), mu = parameters_.mu;
  if (clover_) {
    clover_->update();
    if (mu == 0) return {factor, 0, &clover_->inverse(form())};
    return {factor, -factor * sign(dagger), &clover_->inverse(form()), &clover_->twisted_inverse(form())};
  }
  if (mu == 0) return {factor / diagonal};
  const double size = diagonal * diagonal + mu * mu;
  return {factor * diagonal / size, -factor * sign(dagger) * mu / size};
}

void WilsonOperator::take_site_matrices(const ForeignBlocks& from) const {
  if (!clover_) throw Error(ErrorCode::unsupported, "the operator has no clover term");
  clover_->take(from);
}

namespace {

/// The parities of a call that a hop to parity `p` of the result works on.
struct Halves {
  Halves(const Operands& of, Parity p) : y(of.y->parity(p)), x(of.x->parity(opposite(p))), z(of.x->parity(p)) {}

  Field y;
  const Field x, z;
};

}  // namespace

void WilsonOperator::apply_each(OperandList list, Dagger dagger) const {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    std::deque<Halves> halves;
    for (const Operands& call : list) halves.emplace_back(call, p);
    const auto of = [&](std::size_t i) { return Operands{&halves[i].y, &halves[i].x, &halves[i].z}; };
    dslash_.apply_each(operands_for(list, of), dagger, {-0.5}, a(1, dagger));
  }
}

double WilsonOperator::flops() const {
  return (hop_flops + diagonal_flops(parameters_)) * double(full_.lattice->volume());
}

double WilsonOperator::preconditioned_flops(bool symmetric) const {
  const double inverse = inverse_flops(parameters_);
  return (2 * hop_flops + inverse + (symmetric ? inverse + number_flops : diagonal_flops(parameters_))) *
         double(full_.lattice->half_volume());
}

// H = -D/2
void WilsonOperator::subtract_hop(OperandList list, Dagger dagger) const {
  dslash_.apply_each(list, dagger, {0.5}, {1});
}

void WilsonOperator::inverse_diagonal_hop(OperandList list, Dagger dagger) const {
  dslash_.apply_each(list, dagger, inverse_a(-0.5, dagger));
}

void WilsonOperator::diagonal_minus_hop(OperandList list, Dagger dagger) const {
  dslash_.apply_each(list, dagger, {0.5}, a(1, dagger));
}

void WilsonOperator::subtract_inverse_diagonal_hop(OperandList list, Dagger dagger) const {
  dslash_.apply_each(list, dagger, inverse_a(0.5, dagger), {1});
}

void WilsonOperator::inverse_diagonal(OperandList list, Dagger dagger) const {
  dslash_.apply_local_each(list, inverse_a(1, dagger));
}

std::unique_ptr<DiracOperator> WilsonOperator::converted_dirac(const OperatorForm& form) const {
  if (dslash_.form().temporal_gauge) throw Error(ErrorCode::internal, "conversion of a gauge-fixed operator");
  return std::unique_ptr<DiracOperator>(new WilsonOperator(dslash_.gauge(), parameters_, form, clover_));
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

namespace {

const char* const hops_help =
    " with D psi(x) = sum_mu [c_mu (1 - gamma_mu) U_mu(x) psi(x+mu) + c_-mu (1 + gamma_mu) U_mu(x-mu)^+ psi(x-mu)], "
    "c = nu/xi0 in space, 1 in time, or exp(+-chemical_potential) from t+-1; DeGrand-Rossi gamma matrices: gamma_k = "
    "[[0, i s_k], [-i s_k, 0]], s = (sigma_1, -sigma_2, "
    "sigma_3), gamma_t = [[0, 1], [1, 0]]";

/// What all operators with these hops have, `more` after the mass; `help` before and `terms` after the words on the
/// hops.
ParameterTable table_with(const std::string& name, const std::string& help, const std::string& terms,
                          const std::vector<Parameter>& more) {
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
  const Parameter chemical_potential{
      .name = "chemical_potential",
      .type = ParameterType::real,
      .help =
          "quark chemical potential: hops from t+1 have the factor exp(chemical_potential), those from t-1 its inverse",
      .unit = "1/a",
      .minimum = -20,
      .maximum = 20};
  ParameterTable table{.name = "operator " + name,
                       .help = help + hops_help + terms,
                       .parameters = {mass, kappa},
                       .exactly_one_of = {{"mass", "kappa"}}};
  table.parameters.insert(table.parameters.end(), more.begin(), more.end());
  table.parameters.insert(table.parameters.end(), {anisotropy, boundary, chemical_potential});
  return table;
}

Parameter mu_parameter() {
  return {.name = "mu",
          .type = ParameterType::real,
          .help = "bare twisted mass; the other flavour of a doublet has -mu",
          .unit = "1/a",
          .required = true};
}

ParameterTable table_with_clover(const std::string& name, const std::string& help, std::vector<Parameter> more) {
  const Parameter csw{.name = "csw", .type = ParameterType::real, .help = "clover coefficient of all planes"};
  const Parameter csw_r{
      .name = "csw_r",
      .type = ParameterType::real,
      .help = "clover coefficient of planes of two spatial directions, which the anisotropy divides by xi0"};
  const Parameter csw_t{
      .name = "csw_t", .type = ParameterType::real, .help = "clover coefficient of planes with t; needed with csw_r"};
  const Parameter exponential{.name = "exponential",
                              .type = ParameterType::boolean,
                              .help = "exponentiated clover term: A = d exp(C / d)",
                              .default_text = "false"};
  more.insert(more.end(), {csw, csw_r, csw_t, exponential});
  ParameterTable table = table_with(
      name, help,
      "; A = d + C with d = m + 1 + 3 nu/xi0 and C = (i/2) sum_{mu<nu} c_mu nu sigma_mu nu F_mu nu, sigma = (i/2) "
      "[gamma_mu, gamma_nu], F = (Q - Q^+) / 8 with the sum Q of the four plaquettes around a site, c = csw, or "
      "csw_r / xi0 in space and csw_t with t",
      more);
  table.exactly_one_of.push_back({"csw", "csw_r"});
  return table;
}

}  // namespace

const ParameterTable& WilsonOperator::table() {
  static const ParameterTable table = table_with("wilson", "Wilson fermions: M = (m + 1 + 3 nu/xi0) - D/2", "", {});
  return table;
}

const ParameterTable& WilsonOperator::twisted_mass_table() {
  static const ParameterTable table = table_with(
      "twisted_mass", "twisted mass fermions: M = (m + 1 + 3 nu/xi0) + i mu gamma_5 - D/2", "", {mu_parameter()});
  return table;
}

const ParameterTable& WilsonOperator::clover_table() {
  static const ParameterTable table =
      table_with_clover("clover", "Wilson fermions with the clover term: M = A - D/2", {});
  return table;
}

const ParameterTable& WilsonOperator::twisted_clover_table() {
  static const ParameterTable table = table_with_clover(
      "twisted_clover", "twisted mass fermions with the clover term: M = A + i mu gamma_5 - D/2", {mu_parameter()});
  return table;
}

WilsonParameters WilsonOperator::from(const Parameters& job) {
  WilsonParameters parameters;
  parameters.mass = job.has("mass") ? job.real("mass") : 1 / (2 * job.real("kappa")) - 4;
  if (job.has("mu")) parameters.mu = job.real("mu");
  if (job.has("csw")) parameters.csw_r = parameters.csw_t = job.real("csw");
  if (job.has("csw_r") != job.has("csw_t")) {
    throw Error(ErrorCode::invalid_input, "csw_r and csw_t are needed together",
                job.where(job.has("csw_r") ? "csw_r" : "csw_t"));
  }
  if (job.has("csw_r")) parameters.csw_r = job.real("csw_r"), parameters.csw_t = job.real("csw_t");
  if (job.has("exponential")) parameters.exponential = job.boolean("exponential");
  parameters.xi0 = job.group("anisotropy").real("xi0");
  parameters.nu = job.group("anisotropy").real("nu");
  parameters.boundary = job.boundary("boundary");
  if (job.has("chemical_potential")) parameters.chemical_potential = job.real("chemical_potential");
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
