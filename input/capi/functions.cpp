#include "input/capi/functions.h"

#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/words.h"

namespace quadrille::capi {
namespace {

/// The basis that the array is to have, of a column whose sink spins are not in the internal one.
void demand_basis(const Propagator& propagator, const Parameters& words) {
  if (propagator.sink == Propagator::Sink::ukqcd || words.text("basis") == "degrand_rossi") return;
  throw Error(ErrorCode::unsupported, "this propagator was read back from a file: give `basis: degrand_rossi`",
              words.where("basis"));
}

void write(const PropagatorObject& object, int column, const char* words, void* array) {
  const Propagator& propagator = *object.propagator;
  if (column < 0 || column >= Propagator::size) {
    throw Error(ErrorCode::invalid_input, fmt::format("there is no column {}; there are 0 to 11", column));
  }
  Parameters read = *read_words(spinors_table(), words, "spinors");
  demand_basis(propagator, read);
  if (read.text("normalization") == "kappa") {
    throw Error(ErrorCode::unsupported, "propagators of a job are in the normalization of the mass",
                read.where("normalization"));
  }
  const bool as_it_lies = propagator.sink == Propagator::Sink::degrand_rossi;
  if (as_it_lies) {  // no rotation on the way out
    Parameters::Item inside;
    inside.type = ParameterType::choice;
    inside.scalar = std::string("ukqcd");
    read = read.replaced("basis", "basis", inside);
  }
  const SpinorArrays host(read, *propagator.desc().lattice, nullptr, 1, {propagator.backend(), object.home->stream});
  if (host.subset() != Subset::Full) {
    throw Error(ErrorCode::invalid_input, "a propagator needs subset: full", read.where("subset"));
  }
  host.check(&array, 1, "array");
  host.wait();
  host.write_from(propagator.columns[std::size_t(column)], array);
}

quadrille_status propagator_to_memory(quadrille_propagator* handle, int column, const char* words, void* array) {
  return with<PropagatorObject>(handle, [&](const std::shared_ptr<PropagatorObject>& propagator) {
    write(*propagator, column, words, array);
    return QUADRILLE_DONE;
  });
}

}  // namespace

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
