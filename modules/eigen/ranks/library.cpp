#include "modules/eigen/ranks/library.h"

#include "core/comm/agreement.h"
#include "core/comm/ranks.h"
#include "core/error.h"
#include "core/system/memory.h"

#include <fmt/format.h>

namespace quadrille::eigen {

void require_memory_of_ranks(const Communicator& ranks, int of_host, double bytes, const std::string& what) {
  all_or_none(ranks,
              [&] { require_memory(bytes * of_host, fmt::format("{}, by the {} ranks of a host,", what, of_host)); });
}

std::unique_ptr<SpreadLibrary> load_spread_library(const Communicator& ranks, const std::string& name) {
  std::string reason = "these ranks are not MPI's";
  void* function = nullptr;
  if (ranks.fortran_number()) {
    function = function_beside(
        "libquadrille_eigen_ranks.so", "quadrille_eigen_ranks_build", "quadrille_eigen_spread_library",
        "install libscalapack-openmpi-dev, and libelpa-dev for ELPA, and build Quadrille again", reason);
  }
  double missing = function == nullptr ? 1 : 0;
  ranks.maximum(&missing, 1);
  if (function != nullptr && missing == 0) {
    return std::unique_ptr<SpreadLibrary>(reinterpret_cast<MakeSpreadLibrary>(function)(ranks, name.c_str()));
  }
  if (function != nullptr) reason = "another rank has neither";
  throw Error(ErrorCode::unsupported,
              fmt::format("eigenproblems on several ranks are solved by ScaLAPACK or ELPA, but {}; or start it on one "
                          "rank, where LAPACK solves them",
                          reason));
}

}  // namespace quadrille::eigen
