// The channels of the task `mesons`: names of mesons, and pairs of gamma matrices.
#pragma once

#include "core/parameters/parameters.h"
#include "input/contractions/mesons.h"

#include <string>
#include <vector>

namespace quadrille {

/// A channel as results name it.
struct NamedChannel {
  std::string name;          ///< "rho_x", or of a pair "gtg5_g5"
  std::string sink, source;  ///< names of gamma matrices
  MesonChannel gammas() const { return {gamma_named(sink), gamma_named(source)}; }
  bool is_pion() const { return sink == "g5" && source == "g5"; }
};

/// The parameter `channels`: a list of names of mesons and of {sink: GAMMA, source: GAMMA}.
Parameter channels_parameter();
std::vector<NamedChannel> channels_of(const Parameters& task);

}  // namespace quadrille
