// Compiled instead of lime_clime.cpp when CMake does not find c-lime: the built-in codec moves the bytes.
#include "input/files/lime/lime.h"

namespace quadrille {

bool lime_has_clime() { return false; }
std::unique_ptr<LimeSource> make_clime_source(const std::string&) { return nullptr; }
std::unique_ptr<LimeSink> make_clime_sink(const AtomicFile&) { return nullptr; }

}  // namespace quadrille
