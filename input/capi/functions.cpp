#include "input/capi/functions.h"

#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/files/propagator_file.h"

namespace quadrille::capi {
namespace {

/// The basis that the array is to have, of a column whose sink spins are not in the internal one.
void demand_basis(const Propagator& propagator, const Parameters& words) {
  if (propagator.sink == Propagator::Sink::ukqcd || words.text("basis") == "degrand_rossi") return;
  throw Error(ErrorCode::unsupported, "this propagator was read back from a file: give `basis: degrand_rossi`",
              words.where("basis"));
}

void write_column(const PropagatorObject& object, int column, const char* words, void* array) {
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
    write_column(*propagator, column, words, array);
    return QUADRILLE_DONE;
  });
}

/// One array for each column.
void check_columns(void* const* columns, std::size_t count) {
  if (count != std::size_t(Propagator::size)) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("a propagator has {} columns, not {}: give an array for each", Propagator::size, count));
  }
  (void)required(columns, "columns");
  for (std::size_t k = 0; k < count; ++k) (void)required(columns[k], "an array of columns");
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

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_propagator_read(quadrille_gauge* handle, const char* file, const char* words,
                                           void* const* columns, size_t count) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    Context& context = gauge->context();
    together(context, {"quadrille_propagator_read", words, count}, [&] {
      (void)required(file, "file");
      (void)read_words(spinors_table(), words, "spinors");
      check_columns(columns, count);
    });
    const PropagatorFile read = read_propagator_file(file, *gauge->lattice, context.backend);
    const PropagatorObject propagator{gauge->home, &read.propagator};
    for (int column = 0; column < Propagator::size; ++column) {
      write_column(propagator, column, words, columns[column]);
    }
    return QUADRILLE_DONE;
  });
}
