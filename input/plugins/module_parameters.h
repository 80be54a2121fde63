// What a module is told of its task's parameters (modules/shared/plugin/module.h: quadrille_host), by their paths.
#pragma once

#include "core/parameters/parameters.h"
#include "input/plugins/module_run.h"

#include <cstddef>
#include <cstdint>

namespace quadrille {

int has_parameter(quadrille_run* run, const char* path);
std::size_t count_parameter(quadrille_run* run, const char* path);
quadrille_status boolean_parameter(quadrille_run* run, const char* path, std::size_t index, int* value);
quadrille_status integer_parameter(quadrille_run* run, const char* path, std::size_t index, std::int64_t* value);
quadrille_status real_parameter(quadrille_run* run, const char* path, std::size_t index, double* value);
quadrille_status text_parameter(quadrille_run* run, const char* path, std::size_t index, const char** value);
quadrille_status input_file(quadrille_run* run, const char* path, std::size_t index, const char** file);

/// What the job has for a parameter; null when nothing. Throws std::invalid_argument for a path that the schema of the
/// task does not have.
const Parameters::Item* asked_item(quadrille_run* run, const char* path);

/// The value of a parameter, of a list its entry `index`, which must be of one of `types`. Throws std::invalid_argument
/// where the module may not ask so.
const Parameters::Item& asked_value(quadrille_run* run, const char* path, std::size_t index,
                                    std::initializer_list<ParameterType> types);

}  // namespace quadrille
