// The Dirac operators that a job can name: an explicit table.
#pragma once

#include "core/api.h"
#include "core/parameters/parameters.h"
#include "dirac/dirac_operator.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

struct OperatorEntry {
  std::string name;
  std::string help;
  const ParameterTable& (*table)();
  /// The operator in the outer form: double, 18 numbers, original gauge.
  std::unique_ptr<DiracOperator> (*make)(std::shared_ptr<const GaugeStore> gauge, const Parameters& parameters);
  /// Throws ErrorCode::invalid_input with the place in the job for parameters of which no operator can be made.
  void (*check)(const Parameters& parameters);
  /// What propagator files call the action (Chroma's <FermAct>), and the parameters that they hold besides the mass, by
  /// the names of their elements.
  std::string (*file_action)(const Parameters& parameters);
  std::vector<std::pair<std::string, std::string>> file_elements;
};

QUADRILLE_API const std::vector<OperatorEntry>& operator_registry();

/// The entry of this name; ErrorCode::invalid_input with the known names otherwise.
const OperatorEntry& find_operator(const std::string& name);

}  // namespace quadrille
