#include "input/sources/right_hand_sides.h"

#include "core/blas/random_fill.h"
#include "input/sources/point.h"

#include <utility>

namespace quadrille {

void check_right_hand_sides(const Parameters& source, const Dims& dims) {
  if (source.text("type") == "point") check_site(source, dims);
}

void make_right_hand_side(Field& b, const Parameters& source, int k) {
  if (source.text("type") == "gaussian") {
    fill_gaussian(b, std::uint64_t(source.integer("seed")) + std::uint64_t(k));
  } else {
    make_point(source, b, k / 3, k % 3);
  }
}

Parameter right_hand_sides() {
  Parameter count{.name = "count",
                  .type = ParameterType::integer,
                  .help = "number of right-hand sides to average over, the first of the 12 spins and colors",
                  .default_text = "1",
                  .minimum = 1,
                  .maximum = 12};
  ParameterTable point = point_source().table;
  point.parameters.push_back(count);
  count.help = "number of right-hand sides to average over";
  count.maximum = 1000;
  ParameterTable gaussian;
  gaussian.name = "source gaussian";
  gaussian.help = "Gaussian random numbers on all sites, spins and colors";
  gaussian.parameters = {{.name = "seed",
                          .type = ParameterType::integer,
                          .help = "seed of the first right-hand side; each further one takes the next seed",
                          .default_text = "1",
                          .minimum = 0},
                         count};
  Parameter source;
  source.name = "source";
  source.type = ParameterType::variant;
  source.help = "the right-hand sides";
  source.default_text = "{type: gaussian}";
  source.entries = {{"point", std::move(point)}, {"gaussian", std::move(gaussian)}};
  return source;
}

}  // namespace quadrille
