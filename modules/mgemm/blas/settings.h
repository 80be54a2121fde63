// What the environment says to libquadrille_blas.so.
#pragma once

#include "modules/mgemm/capi/c_api.h"

#include <string>

namespace quadrille::preloaded {

struct Settings {
  std::string backend = "auto";  ///< cpu, cuda, or auto: cuda with a usable GPU, else cpu
  bool mixed = false;            ///< products in double are those of quadrille_mgemm
  /// Of these, but for the backend.
  quadrille_mgemm_options options = {};
  double smallest = 0;  ///< m n k below which a product is passed on
  bool report = false;  ///< at the end of the process
  std::string given;    ///< the variables, "NAME=value NAME=value"; empty: none
};

/// As read by the first call. A variable QUADRILLE_BLAS_... that is unknown, or whose value cannot be, ends the process
/// with a message.
const Settings& settings();

}  // namespace quadrille::preloaded
