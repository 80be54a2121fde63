// All parts of a job on one page.
#pragma once

#include <string>

namespace quadrille {

/// input/REFERENCE.md: every block, operator, solver, task and source with the values, units, defaults and meanings of
/// its parameters, as Markdown, of the program's own tasks and those of the modules in the library and in the search
/// path.
std::string reference_page();

}  // namespace quadrille
