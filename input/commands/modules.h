// `quadrille modules`: what modules are there?
#pragma once

#include <iosfwd>

namespace quadrille {

/// A line for each module (name, version, build id, file) and one for each of its tasks; then the files of
/// QUADRILLE_MODULE_PATH that are no modules, and why. Gives the exit status: 1 when there are such files.
int list_modules(std::ostream& out);

}  // namespace quadrille
