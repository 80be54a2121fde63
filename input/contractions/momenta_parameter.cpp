#include "input/contractions/momenta_parameter.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille {

Parameter momenta_parameter() {
  Parameter momenta;
  momenta.name = "momenta";
  momenta.type = ParameterType::group;
  momenta.help = "momenta of the correlators, p = 2 pi n / L with whole numbers n for x, y, z";
  momenta.members = {{.name = "p2_max",
                      .type = ParameterType::integer,
                      .help = "all n with n_x^2 + n_y^2 + n_z^2 up to this number",
                      .default_text = "0",
                      .minimum = 0,
                      .maximum = 100}};
  momenta.shorthand = "p2_max";
  momenta.default_text = "{p2_max: 0}";
  return momenta;
}

void check_momenta(const Parameters& task, const Dims& dims, std::vector<Error>& errors) {
  const Parameters& momenta = task.group("momenta");
  const int half = std::min({dims[0], dims[1], dims[2]}) / 2;  // further momenta are those of the other side
  if (momenta.integer("p2_max") <= half * half) return;
  errors.emplace_back(ErrorCode::invalid_input,
                      fmt::format("'momenta.p2_max' must be <= {}, the square of half of the shortest side of this "
                                  "lattice of {} x {} x {} x {}, got {}",
                                  half * half, dims[0], dims[1], dims[2], dims[3], momenta.integer("p2_max")),
                      momenta.where("p2_max"));
}

std::vector<Momentum> momenta_of(const Parameters& task) {
  return momenta_up_to(int(task.group("momenta").integer("p2_max")));
}

}  // namespace quadrille
