// Quark propagators in the QIO form that Chroma (QDP++) writes.
//
// Binary record, big-endian: site (x fastest), sink spin, source spin, sink color, source color, re/im;
// DeGrand-Rossi spins. Propagators go to and from a backend's memory in pieces (lattice_data.h). The record XML is that
// of Chroma's PROPAGATOR task (root <Propagator> with ForwardProp version 9, PropSource version 6), so that its tasks
// find source and action.
#pragma once

#include "core/dims.h"
#include "core/field/propagator.h"
#include "input/files/lime/lime.h"
#include "input/files/lime/scidac.h"

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

/// What the record XML tells of how the propagator was made.
struct PropagatorHeader {
  Dims source{};                      ///< x, y, z, t of the source (<t_srce>)
  std::string source_type = "point";  ///< "point"; other names are written in capitals with _SOURCE after them
  std::vector<std::pair<std::string, std::string>> source_elements{};  ///< further elements of <Source>
  int decay_direction = 3;                                             ///< <j_decay>
  std::string action = "WILSON";                                       ///< <FermAct>
  double mass = 0;                                                     ///< bare mass, <Mass>
  std::vector<std::pair<std::string, double>> action_numbers{};  ///< further elements of the action and their values
  double xi0 = 1, nu = 1;            ///< anisotropy; <AnisoParam> is written when one of them is not 1
  std::array<double, 4> boundary{};  ///< theta/pi for x, y, z, t: 0 periodic, 1 antiperiodic
  /// What the solver is called, and the elements of its tolerance and of its limit.
  std::string inverter = "BICGSTAB_INVERTER", tolerance_element = "RsdBiCGStab", limit_element = "MaxBiCGStab";
  double tolerance = 0;
  int max_iterations = 0;
  std::string gauge_file{};  ///< as information in <Config_info>
  double plaquette = 0;
};

struct PropagatorWriteOptions {
  int precision = 64;  ///< bits of a number: 32 or 64
  LimeMover mover = LimeMover::automatic;
};

/// Gives the checksum of the data. A failed write leaves no file (and an older one as it was). Errors: those of
/// AtomicFile; ErrorCode::numerical naming site, spins and colors of a number that is not finite.
Checksum write_propagator_file(const std::string& path, const Propagator& propagator, const PropagatorHeader& header,
                               const PropagatorWriteOptions& options = {});

/// What a file says of its propagator, without the numbers.
struct PropagatorFileInfo {
  std::string path;
  int precision = 0;  ///< bits of a number: 32 or 64
  Dims dims{};
  std::string datatype;  ///< as the private record names it: "Lattice", "QDP_D3_DiracPropagator", ...
  std::vector<LimeRecord> records;
  LimeRecord data;
  ChecksumVerdict checksum;
  std::string file_xml, record_xml;
  // From the record XML, where it says so.
  std::optional<Dims> source;
  std::string source_type;  ///< as in the file: "POINT_SOURCE", ...
  std::optional<int> decay_direction;
  std::optional<double> mass;  ///< from <Mass> or <Kappa>
};

struct PropagatorFile {
  PropagatorFileInfo info;
  Propagator propagator;  ///< with DeGrand-Rossi spins
};

struct PropagatorReadOptions {
  bool verify_checksum = true;  ///< false: a mismatch is a warning
  LimeMover mover = LimeMover::automatic;
};

/// Reads the first propagator of a file, any datatype whose site has 288 real numbers, into fields on `lattice`, which
/// outlives them. Errors as read_gauge_file's; ErrorCode::file for a propagator on another lattice.
PropagatorFile read_propagator_file(const std::string& path, const Lattice& lattice, Backend& backend,
                                    const PropagatorReadOptions& options = {});

/// True when the file has a record of propagator data.
bool has_propagator(const LimeInput& file);
/// What the file says of it; `checksum` is not filled in.
PropagatorFileInfo locate_propagator(const LimeInput& file);
/// Reads all numbers for the verdict on their checksum, which is judged but not demanded. Errors: ErrorCode::numerical
/// for a number that is not finite.
ChecksumVerdict check_propagator(const LimeInput& file, const PropagatorFileInfo& info);

}  // namespace quadrille
