#include "input/commands/info.h"

#include "core/gauge/observables.h"
#include "input/files/file_kind.h"
#include "input/files/gauge_file.h"
#include "input/files/lattice_data.h"
#include "input/files/propagator_file.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <ostream>
#include <utility>

namespace quadrille {

namespace {

template <class... Args>
void line(std::ostream& out, const char* name, fmt::format_string<Args...> text, Args&&... args) {
  fmt::print(out, "{:<14}{}\n", name, fmt::format(text, std::forward<Args>(args)...));
}

void print_records(std::ostream& out, const LimeInput& input) {
  const std::vector<LimeRecord>& records = input.records();
  fmt::print(out, "records       number  message  flags  data at byte        bytes  type\n");
  for (const LimeRecord& record : records)
    fmt::print(out, "              {:>6}  {:>7}  {:>5}  {:>12}  {:>11}  {}\n", record.number, record.message,
               fmt::format("{}{}", record.begins_message ? "B" : "-", record.ends_message ? "E" : "-"),
               record.data_byte, record.length, record.type);
  for (const LimeRecord& record : records)
    if (!record.warning.empty())
      line(out, "warning", "{}: {}", to_string(lime_location(input.path(), record, record.length)), record.warning);
}

void print_dims(std::ostream& out, const Dims& dims) {
  line(out, "dims", "{} {} {} {} (x y z t)", dims[0], dims[1], dims[2], dims[3]);
}

bool matches(const ChecksumVerdict& verdict) { return verdict.state != ChecksumVerdict::State::mismatch; }

/// Whether data and links are as they should be.
bool print_gauge(std::ostream& out, const LimeInput& input) {
  GaugeFileInfo about = locate_gauge_field(input);
  line(out, "content", "gauge field ({})", about.format == "ildg" ? "ILDG" : "SciDAC without ILDG records");
  print_dims(out, about.dims);
  line(out, "precision", "{} bits", about.precision);
  if (!about.lfn.empty()) line(out, "lfn", "{}", about.lfn);
  const char* title = "origin";
  for (const auto& [name, value] : about.origin) {
    line(out, title, "{}: {}", name, value);
    title = "";
  }
  const GaugeFile file = load_gauge_field(input, std::move(about));
  line(out, "checksum", "{}", to_string(file.info.checksum));
  const GaugeObservables found = file.links->observables();
  line(out, "plaquette", "{:.15g}", found.plaquette);
  for (std::size_t plane = 0; plane < plane_names.size(); ++plane)
    line(out, plane == 0 ? "planes" : "", "{}  {:.15g}", plane_names[plane], found.planes[plane]);
  line(out, "link trace", "{:.15g}", found.link_trace);
  const Unitarity& worst = found.unitarity;
  const double tolerance = link_tolerance(file.info.precision);
  const bool good = worst.unitarity <= tolerance && worst.determinant <= tolerance;
  line(out, "unitarity", "|U U^+ - 1| at most {:.3g}, at {}", worst.unitarity,
       link_name(file.info.dims, worst.unitarity_site, worst.unitarity_direction));
  line(out, "", "|det U - 1| at most {:.3g}, at {}", worst.determinant,
       link_name(file.info.dims, worst.determinant_site, worst.determinant_direction));
  line(out, "", "{} (at most {:g} is allowed for {} bits)", good ? "in SU(3)" : "NOT in SU(3)", tolerance,
       file.info.precision);
  return good && matches(file.info.checksum);
}

bool print_propagator(std::ostream& out, const LimeInput& input) {
  const PropagatorFileInfo about = locate_propagator(input);
  line(out, "content", "propagator (SciDAC, datatype {})", about.datatype);
  print_dims(out, about.dims);
  line(out, "precision", "{} bits", about.precision);
  if (about.source) {
    const Dims& at = *about.source;
    line(out, "source", "{} at {} {} {} {} (x y z t)", about.source_type, at[0], at[1], at[2], at[3]);
  }
  if (about.decay_direction) line(out, "decay", "direction {}", *about.decay_direction);
  if (about.mass) line(out, "mass", "{:.15g}", *about.mass);
  const ChecksumVerdict checksum = check_propagator(input, about);
  line(out, "checksum", "{}", to_string(checksum));
  return matches(checksum);
}

bool has_gauge_field(const LimeInput& input) {
  return input.find("ildg-binary-data") || (input.find("scidac-binary-data") && !has_propagator(input));
}

}  // namespace

bool info(const std::string& path, std::ostream& out) {
  const FileKind kind = file_kind(path);
  if (kind == FileKind::other) throw not_lime_error(path);
  line(out, "file", "{}", path);
  line(out, "format", "{}", to_string(kind));
  if (kind == FileKind::hdf5) {
    line(out, "content", "arrays of numbers: input of tasks of modules (quadrille help task)");
    return true;
  }
  if (kind != FileKind::lime) {
    line(out, "content", "recognised, but this version cannot read it (convert it to ILDG)");
    return true;
  }
  const LimeInput input(path);
  print_records(out, input);
  if (has_gauge_field(input)) return print_gauge(out, input);
  if (has_propagator(input)) return print_propagator(out, input);
  line(out, "content", "neither a gauge field nor a propagator");
  return true;
}

}  // namespace quadrille
