#include "dirac/registry.h"

#include "core/error.h"
#include "dirac/wilson.h"

namespace quadrille {
namespace {

std::unique_ptr<DiracOperator> make_wilson(std::shared_ptr<const GaugeStore> gauge, const Parameters& parameters) {
  return std::make_unique<WilsonOperator>(std::move(gauge), WilsonOperator::from(parameters), OperatorForm{});
}

void check_wilson(const Parameters& parameters) { (void)WilsonOperator::from(parameters); }

std::string clover_action(const std::string& before, const Parameters& job) {
  return before + (job.boolean("exponential") ? "EXP_CLOVER" : "CLOVER");
}

}  // namespace

const std::vector<OperatorEntry>& operator_registry() {
  static const std::pair<std::string, std::string> chemical_potential{"ChemicalPotential", "chemical_potential"};
  static const std::vector<OperatorEntry> entries = {
      {"wilson",
       "Wilson fermions, isotropic or anisotropic",
       &WilsonOperator::table,
       &make_wilson,
       &check_wilson,
       [](const Parameters&) { return std::string("WILSON"); },
       {chemical_potential}},
      {"twisted_mass",
       "twisted mass fermions: Wilson fermions with i mu gamma_5",
       &WilsonOperator::twisted_mass_table,
       &make_wilson,
       &check_wilson,
       [](const Parameters&) { return std::string("TWISTED_MASS"); },
       {{"TwistedM", "mu"}, chemical_potential}},
      {"clover",
       "Wilson fermions with the clover term",
       &WilsonOperator::clover_table,
       &make_wilson,
       &check_wilson,
       [](const Parameters& job) { return clover_action("", job); },
       {{"clovCoeff", "csw"}, {"clovCoeffR", "csw_r"}, {"clovCoeffT", "csw_t"}, chemical_potential}},
      {"twisted_clover",
       "twisted mass fermions with the clover term",
       &WilsonOperator::twisted_clover_table,
       &make_wilson,
       &check_wilson,
       [](const Parameters& job) { return clover_action("TWISTED_", job); },
       {{"TwistedM", "mu"},
        {"clovCoeff", "csw"},
        {"clovCoeffR", "csw_r"},
        {"clovCoeffT", "csw_t"},
        chemical_potential}},
  };
  return entries;
}

const OperatorEntry& find_operator(const std::string& name) {
  std::string known;
  for (const OperatorEntry& entry : operator_registry()) {
    if (entry.name == name) return entry;
    known += (known.empty() ? "" : ", ") + entry.name;
  }
  throw Error(ErrorCode::invalid_input, "unknown operator '" + name + "'; the operators are " + known);
}

}  // namespace quadrille
