#include "input/capi/functions.h"

#include "input/capi/quadrille.h"

namespace quadrille::capi {
const quadrille_functions function_table = {
    .struct_size = sizeof(quadrille_functions),
    .message = quadrille_message,
    .gauge_create = quadrille_gauge_create,
    .gauge_from_memory = quadrille_gauge_from_memory,
    .gauge_update = quadrille_gauge_update,
    .gauge_to_memory = quadrille_gauge_to_memory,
    .gauge_dims = quadrille_gauge_dims,
    .gauge_plaquettes = quadrille_gauge_plaquettes,
    .gauge_json = quadrille_gauge_json,
    .gauge_destroy = quadrille_gauge_destroy,
    .operator_create = quadrille_operator_create,
    .operator_apply = quadrille_operator_apply,
    .operator_destroy = quadrille_operator_destroy,
    .solver_create = quadrille_solver_create,
    .solver_solve = quadrille_solver_solve,
    .solver_json = quadrille_solver_json,
    .solver_destroy = quadrille_solver_destroy,
    .propagator_to_memory = propagator_to_memory,
    .gauge_part = quadrille_gauge_part,
    .help = quadrille_help,
    .schema = quadrille_schema,
};

}  // namespace quadrille::capi
