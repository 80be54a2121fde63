#include "input/files/propagator_file.h"

#include "core/gauge/observables.h"
#include "input/files/lattice_data.h"
#include "input/files/lime/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <utility>

namespace quadrille {

namespace {

constexpr int propagator_reals = 288;
constexpr const char* data_type = "scidac-binary-data";

std::string propagator_real_name(const Dims& dims, std::int64_t real) {
  const Dims x = site_coordinates(dims, real / propagator_reals);
  const std::int64_t n = real % propagator_reals / 2;
  return fmt::format("site ({},{},{},{}), sink spin {}, source spin {}, sink color {}, source color {}", x[0], x[1],
                     x[2], x[3], n / 36, n / 9 % 4, n / 3 % 3, n % 3);
}

std::string element(const std::string& name, const std::string& text) {
  return fmt::format("<{0}>{1}</{0}>\n", name, text);
}
std::string element(const std::string& name, double value) { return element(name, fmt::format("{:.17g}", value)); }
std::string element(const std::string& name, int value) { return element(name, std::to_string(value)); }

std::string upper_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return char(std::toupper(c)); });
  return text;
}

/// Chroma's simple boundary condition knows signs only; other phases are told in an element of our own.
std::string boundary_xml(const std::array<double, 4>& boundary) {
  const bool signs =
      std::all_of(boundary.begin(), boundary.end(), [](double b) { return b == 0 || b == 1 || b == -1; });
  std::string numbers;
  for (const double b : boundary)
    numbers += fmt::format("{}{:.17g}", numbers.empty() ? "" : " ", signs ? (b == 0 ? 1.0 : -1.0) : b);
  return signs ? element("FermBC", "SIMPLE_FERMBC") + element("boundary", numbers)
               : element("FermBC", "PHASE_FERMBC") + element("boundary_phases_by_pi", numbers);
}

std::string action_xml(const PropagatorHeader& header) {
  std::string aniso;
  if (header.xi0 != 1 || header.nu != 1)
    aniso = "<AnisoParam>\n" + element("anisoP", "true") + element("t_dir", 3) + element("xi_0", header.xi0) +
            element("nu", header.nu) + "</AnisoParam>\n";
  std::string numbers;
  for (const auto& [name, value] : header.action_numbers) numbers += element(name, value);
  return "<FermionAction>\n" + element("FermAct", header.action) + element("Mass", header.mass) + numbers + aniso +
         "<FermState>\n" + element("Name", "SIMPLE_FERM_STATE") + "<FermionBC>\n" + boundary_xml(header.boundary) +
         "</FermionBC>\n</FermState>\n</FermionAction>\n";
}

std::string inverter_xml(const PropagatorHeader& header) {
  return "<InvertParam>\n" + element("invType", header.inverter) + element(header.tolerance_element, header.tolerance) +
         element(header.limit_element, header.max_iterations) + "</InvertParam>\n";
}

std::string source_xml(const PropagatorHeader& header) {
  const Dims& at = header.source;
  std::string more;
  for (const auto& [name, text] : header.source_elements) more += element(name, xml_escaped(text));
  return "<PropSource>\n" + element("version", 6) + "<Source>\n" + element("version", 2) +
         element("SourceType", xml_escaped(upper_case(header.source_type)) + "_SOURCE") +
         element("j_decay", header.decay_direction) +
         element("t_srce", fmt::format("{} {} {} {}", at[0], at[1], at[2], at[3])) + "<Displacement>\n" +
         element("version", 1) + element("DisplacementType", "NONE") + "</Displacement>\n" + more + "</Source>\n" +
         element("j_decay", header.decay_direction) + element("t_source", at[std::size_t(header.decay_direction)]) +
         "</PropSource>\n";
}

std::string record_xml(const PropagatorHeader& header) {
  return "<?xml version=\"1.0\"?>\n<Propagator>\n" + element("version", 1) + "<ForwardProp>\n" + element("version", 9) +
         element("quarkSpinType", "FULL") + element("obsvP", "false") + action_xml(header) + inverter_xml(header) +
         "</ForwardProp>\n" + source_xml(header) + "<Config_info>\n" +
         element("gauge_file", xml_escaped(header.gauge_file)) + element("plaquette", header.plaquette) +
         "</Config_info>\n<StateInfo>\n</StateInfo>\n</Propagator>\n";
}

const LimeRecord* find_propagator_data(const LimeInput& file) {
  for (const LimeRecord& record : file.records()) {
    if (record.type != data_type) continue;
    const std::optional<ScidacRecord> kind = scidac_record(file, record);
    if (kind && kind->is_field && kind->reals_per_site() == propagator_reals) return &record;
  }
  return nullptr;
}

/// The facts of the record XML that are there; user XML of another program need not even be XML.
void read_header(const Location& where, PropagatorFileInfo& info) {
  try {
    const Xml xml(info.record_xml, where);
    if (const auto text = xml.find("//t_srce")) {
      Dims at{};
      std::istringstream words(*text);
      if (words >> at[0] >> at[1] >> at[2] >> at[3]) info.source = at;
    }
    info.source_type = xml.find("//SourceType").value_or("");
    if (xml.has("//j_decay")) info.decay_direction = int(xml.integer("//j_decay"));
    const auto real = [&xml](const char* path) { return std::strtod(xml.text(path).c_str(), nullptr); };
    if (xml.has("//Mass"))
      info.mass = real("//Mass");
    else if (xml.has("//Kappa") && real("//Kappa") != 0)
      info.mass = 1 / (2 * real("//Kappa")) - 4;
  } catch (const Error&) {
    return;
  }
}

FileField field_of(const PropagatorFileInfo& info, const Lattice* lattice = nullptr) {
  return {{info.dims, propagator_reals, info.precision, lattice}, "propagator", propagator_real_name};
}

}  // namespace

Checksum write_propagator_file(const std::string& path, const Propagator& propagator, const PropagatorHeader& header,
                               const PropagatorWriteOptions& options) {
  if (options.precision != 32 && options.precision != 64)
    throw Error(ErrorCode::invalid_input,
                fmt::format("cannot write a {}-bit propagator, only 32 or 64 bits", options.precision));
  const Lattice& lattice = *propagator.desc().lattice;
  const Dims& dims = lattice.global_dims();
  const DataFormat format{.dims = dims, .reals = propagator_reals, .precision = options.precision, .lattice = &lattice};
  // QIO reads its XML records as C strings: each carries its NUL.
  const auto with_nul = [](std::string text) { return text + '\0'; };
  const std::string file_xml = "<?xml version=\"1.0\"?>\n<propagator>\n" +
                               element("program", "Quadrille " QUADRILLE_VERSION) + "</propagator>\n";
  LimeOutput file(path, options.mover, lattice.communicator());
  file.record("scidac-private-file-xml", with_nul(private_file_xml(dims)), true, false);
  file.record("scidac-file-xml", with_nul(file_xml), false, true);
  file.record("scidac-private-record-xml",
              with_nul(private_record_xml("Lattice", options.precision, 4, int(format.site_bytes()), 1)), true, false);
  file.record("scidac-record-xml", with_nul(record_xml(header)), false, false);
  file.begin_record(data_type, field_bytes(format).value(), false, false);
  const Checksum sum = write_pieces(
      file, format, propagator.backend(),
      [&](void* bytes, std::int64_t first, std::int64_t count) {
        pack_sites(bytes, {&propagator, first, count, options.precision});
      },
      [&dims](std::int64_t real) { return propagator_real_name(dims, real); });
  file.end_record();
  file.record("scidac-checksum", with_nul(checksum_xml(sum)), false, true);
  file.commit();
  return sum;
}

bool has_propagator(const LimeInput& file) { return find_propagator_data(file) != nullptr; }

PropagatorFileInfo locate_propagator(const LimeInput& file) {
  const LimeRecord* data = find_propagator_data(file);
  if (!data)
    fail_in_file(
        fmt::format(
            "there is no propagator in this file: no {} record has a scidac-private-record-xml with {} (64 bits) "
            "or {} (32 bits) bytes per site",
            data_type, propagator_reals * 8, propagator_reals * 4),
        {.file = file.path()});
  const ScidacRecord kind = scidac_record(file, *data).value();
  const std::optional<Dims> dims = scidac_dims(file);
  if (!dims)
    fail_in_file("there is no scidac-private-file-xml, which should give the extents of the lattice",
                 lime_location(file.path(), *data));
  check_extents(*dims, lime_location(file.path(), *file.find("scidac-private-file-xml")));
  PropagatorFileInfo info;
  info.path = file.path();
  info.precision = kind.precision;
  info.dims = *dims;
  info.datatype = kind.datatype;
  info.records = file.records();
  info.data = *data;
  const std::optional<std::uint64_t> right =
      field_bytes({.dims = info.dims, .reals = propagator_reals, .precision = info.precision});
  if (right != data->length)
    fail_in_file(fmt::format("this record has {} bytes of data, but a propagator on a {} lattice in {} bits takes {}",
                             data->length, extents_text(info.dims), info.precision,
                             right ? fmt::format("{} bytes", *right) : "more than any file can hold"),
                 lime_location(file.path(), *data));
  if (const LimeRecord* record = file.find("scidac-file-xml")) info.file_xml = file.text(*record);
  info.record_xml = text_beside(file, *data, "scidac-record-xml");
  read_header(lime_location(file.path(), *data), info);
  return info;
}

ChecksumVerdict check_propagator(const LimeInput& file, const PropagatorFileInfo& info) {
  return read_field(file, info.data, field_of(info), cpu_backend(),
                    [](const void*, std::int64_t, std::int64_t) { /* the numbers themselves are not wanted */ });
}

PropagatorFile read_propagator_file(const std::string& path, const Lattice& lattice, Backend& backend,
                                    const PropagatorReadOptions& options) {
  const LimeInput file(path, options.mover);
  file.log_warnings();
  PropagatorFile read{locate_propagator(file), {}};
  if (read.info.dims != lattice.global_dims())
    fail_in_file(fmt::format("this propagator is on a {} lattice, not on one of {}", extents_text(read.info.dims),
                             extents_text(lattice.global_dims())),
                 lime_location(path, read.info.data));
  read.propagator = make_propagator(FieldDesc::spinor(lattice, Subset::Full, Precision::Double, backend),
                                    Propagator::Sink::degrand_rossi);
  const ChecksumDemand demand{options.verify_checksum, "reading it without verify_checksum makes this a warning"};
  read.info.checksum = read_field(
      file, read.info.data, field_of(read.info, &lattice), backend,
      [&](const void* bytes, std::int64_t first, std::int64_t count) {
        unpack_sites({&read.propagator, first, count, read.info.precision}, bytes);
      },
      &demand);
  return read;
}

}  // namespace quadrille
