// Propagators, of tasks and of files, in the arrays of a host.
#include "input/capi/arrays/arrays.h"
#include "input/capi/call.h"
#include "input/capi/functions.h"
#include "input/capi/words.h"
#include "input/files/propagator_file.h"

#include <optional>

namespace quadrille::capi {

namespace {

/// Of columns whose sink spins are in this basis. Throws for words in which a propagator is not given.
SpinorArrays arrays_of_columns(const char* words, Propagator::Sink sink, const Lattice& lattice, const Given& given) {
  Parameters read = *read_words(spinors_table(), words, "spinors");
  if (read.text("normalization") == "kappa") {
    throw Error(ErrorCode::unsupported, "propagators of a job are in the normalization of the mass",
                read.where("normalization"));
  }
  if (read.text("subset") != "full") {
    throw Error(ErrorCode::invalid_input, "a propagator needs subset: full", read.where("subset"));
  }
  if (sink == Propagator::Sink::degrand_rossi) {
    if (read.text("basis") != "degrand_rossi") {
      throw Error(ErrorCode::unsupported, "this propagator was read back from a file: give `basis: degrand_rossi`",
                  read.where("basis"));
    }
    Parameters::Item as_it_lies;  // no rotation on the way out
    as_it_lies.type = ParameterType::choice;
    as_it_lies.scalar = std::string("ukqcd");
    read = read.replaced("basis", "basis", as_it_lies);
  }
  return {read, lattice, nullptr, 1, given};
}

void demand_columns(std::size_t count) {
  if (count == std::size_t(Propagator::size)) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("a propagator has {} columns, not {}: give an array for each", Propagator::size, count));
}

}  // namespace

quadrille_status propagator_to_memory(quadrille_propagator* handle, int column, const char* words, void* array) {
  return with<PropagatorObject>(handle, [&](const std::shared_ptr<PropagatorObject>& object) {
    const Propagator& propagator = *object->propagator;
    if (column < 0 || column >= Propagator::size) {
      throw Error(ErrorCode::invalid_input, fmt::format("there is no column {}; there are 0 to 11", column));
    }
    const SpinorArrays host = arrays_of_columns(words, propagator.sink, *propagator.desc().lattice,
                                                {propagator.backend(), object->home->stream});
    host.check(&array, 1, "array");
    host.wait();
    host.write_from(propagator.columns[std::size_t(column)], array);
    return QUADRILLE_DONE;
  });
}

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

quadrille_status quadrille_propagator_read(quadrille_gauge* handle, const char* file, const char* words,
                                           void* const* columns, size_t count) {
  return with<GaugeObject>(handle, [&](const std::shared_ptr<GaugeObject>& gauge) {
    Context& context = gauge->context();
    std::optional<SpinorArrays> host;
    together(context, {"quadrille_propagator_read", words, count}, [&] {
      (void)required(file, "file");
      demand_columns(count);
      host.emplace(arrays_of_columns(words, Propagator::Sink::degrand_rossi, *gauge->lattice, context.given()));
      host->check(columns, count, "columns");
    });
    const PropagatorFile read = read_propagator_file(file, *gauge->lattice, context.backend);
    host->wait();
    for (std::size_t k = 0; k < count; ++k) host->write_from(read.propagator.columns[k], columns[k]);
    return QUADRILLE_DONE;
  });
}
