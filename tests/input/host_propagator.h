// Propagators as plain arrays in files' order, which tests fill and look at, and their files.
#pragma once

#include "core/field/propagator.h"
#include "core/field/propagator_sites.h"
#include "input/files/propagator_file.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

namespace quadrille::testing {

/// A propagator S(x)_{sink spin, source spin; sink color, source color}:
/// data[(((site * 4 + sink_spin) * 4 + source_spin) * 3 + sink_color) * 3 + source_color], QIO's order.
struct HostPropagator {
  Dims dims{};
  std::vector<Complex> data;

  HostPropagator() = default;
  explicit HostPropagator(const Dims& d) : dims(d), data(std::size_t(volume(d)) * 144) {}
};

inline HostPropagator random_propagator(const Dims& dims, std::mt19937_64& generator) {
  HostPropagator propagator(dims);
  std::normal_distribution<double> normal;
  for (Complex& number : propagator.data) number = {normal(generator), normal(generator)};
  return propagator;
}

/// The same numbers as fields, bit for bit.
inline Propagator to_fields(const HostPropagator& from, const Lattice& lattice) {
  Propagator to =
      make_propagator(FieldDesc::spinor(lattice, Subset::Full, Precision::Double), Propagator::Sink::degrand_rossi);
  const double* numbers = reinterpret_cast<const double*>(from.data.data());
  std::vector<std::uint64_t> bytes(from.data.size() * 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) put_big_endian<double>(bytes.data(), std::int64_t(i), numbers[i]);
  unpack_sites({&to, 0, lattice.volume(), 64}, bytes.data());
  return to;
}
inline HostPropagator to_host(const Propagator& from) {
  const Lattice& lattice = *from.desc().lattice;
  HostPropagator to(lattice.dims());
  std::vector<std::uint64_t> bytes(to.data.size() * 2);
  pack_sites(bytes.data(), {&from, 0, lattice.volume(), 64});
  double* numbers = reinterpret_cast<double*>(to.data.data());
  for (std::size_t i = 0; i < bytes.size(); ++i) numbers[i] = get_big_endian<double>(bytes.data(), std::int64_t(i));
  return to;
}

inline void write_propagator_file(const std::string& path, const HostPropagator& propagator,
                                  const PropagatorHeader& header, const PropagatorWriteOptions& options = {}) {
  const Lattice lattice(propagator.dims);
  quadrille::write_propagator_file(path, to_fields(propagator, lattice), header, options);
}

struct HostPropagatorFile {
  PropagatorFileInfo info;
  HostPropagator propagator;
};
/// Whatever its extents are; of a bad file it gives the error that reading gives.
inline HostPropagatorFile read_propagator_file(const std::string& path, const PropagatorReadOptions& options = {}) {
  Dims dims{2, 2, 2, 2};
  try {
    dims = locate_propagator(LimeInput(path, options.mover)).dims;
  } catch (const Error&) {
  }
  const Lattice lattice(dims);
  PropagatorFile file = quadrille::read_propagator_file(path, lattice, cpu_backend(), options);
  return {std::move(file.info), to_host(file.propagator)};
}

}  // namespace quadrille::testing
