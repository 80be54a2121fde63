#include "input/contractions/gamma.h"

#include "core/error.h"

namespace quadrille {

namespace {

const std::string directions = "xyzt";

/// gx, gy, gz, gt.
constexpr Gamma of_direction[] = {{{3, 2, 1, 0}, {1, 1, 3, 3}},
                                  {{3, 2, 1, 0}, {2, 0, 0, 2}},
                                  {{2, 3, 0, 1}, {1, 3, 3, 1}},
                                  {{2, 3, 0, 1}, {0, 0, 0, 0}}};

std::vector<std::string> all_names() {
  std::vector<std::string> names = {"1", "g5"};
  for (const char a : directions) names.push_back(std::string("g") + a);
  for (const char a : directions) names.push_back(std::string("g") + a + "g5");
  for (std::size_t a = 0; a < 4; ++a)
    for (std::size_t b = a + 1; b < 4; ++b) names.push_back(std::string("g") + directions[a] + "g" + directions[b]);
  return names;
}

}  // namespace

Gamma operator*(const Gamma& a, const Gamma& b) {
  Gamma out;
  for (std::size_t row = 0; row < 4; ++row) {
    const auto middle = std::size_t(a.column[row]);
    out.column[row] = b.column[middle];
    out.power[row] = (a.power[row] + b.power[middle]) % 4;
  }
  return out;
}

Gamma adjoint(const Gamma& a) {
  Gamma out;
  for (std::size_t row = 0; row < 4; ++row) {
    out.column[std::size_t(a.column[row])] = int(row);
    out.power[std::size_t(a.column[row])] = (4 - a.power[row]) % 4;
  }
  return out;
}

Gamma gamma5() { return of_direction[0] * of_direction[1] * of_direction[2] * of_direction[3]; }

const std::vector<std::string>& gamma_names() {
  static const std::vector<std::string> names = all_names();
  return names;
}

Gamma gamma_named(const std::string& name) {
  Gamma out;
  if (name == "1") return out;
  for (std::size_t k = 0; k + 1 < name.size(); k += 2) {
    const std::size_t mu = directions.find(name[k + 1]);
    if (name[k] != 'g' || (mu == std::string::npos && name[k + 1] != '5')) break;
    out = out * (mu == std::string::npos ? gamma5() : of_direction[mu]);
    if (k + 2 == name.size()) return out;
  }
  throw Error(ErrorCode::internal, "no gamma matrix is called '" + name + "'");
}

int reversal_sign(const Gamma& gamma) {
  const Gamma reversed = gamma5() * adjoint(gamma) * gamma5();
  return reversed == gamma ? 1 : -1;
}

}  // namespace quadrille
