// What libquadrille_eigen_ranks.so is built from, which the library that loads it compares.
#include "core/api.h"
#include "quadrille_build.h"

extern "C" QUADRILLE_API const char* quadrille_eigen_ranks_build() { return QUADRILLE_CPP_BUILD; }
