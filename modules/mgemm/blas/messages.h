// What libquadrille_blas.so says to the user of a program that does not know of it: on standard error, and with its
// name.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace quadrille::preloaded {

inline void say(const std::string& text) { std::fprintf(stderr, "libquadrille_blas: %s\n", text.c_str()); }

/// Ends the process: the caller of a BLAS expects no errors. Other threads may still multiply, so nothing is destroyed.
[[noreturn]] inline void give_up(const std::string& text) {
  std::fflush(nullptr);
  say(text);
  std::_Exit(EXIT_FAILURE);
}

}  // namespace quadrille::preloaded
