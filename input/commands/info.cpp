#include "input/commands/info.h"

#include "core/gauge/observables.h"
#include "core/printable.h"
#include "input/files/file_kind.h"
#include "input/files/gauge_file.h"
#include "input/files/lattice_data.h"
#include "input/files/low_modes_file.h"
#include "input/files/propagator_file.h"
#include "input/tasks/registry.h"

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

namespace {

template <class... Args>
void line(std::ostream& out, const char* name, fmt::format_string<Args...> text, Args&&... args) {
  fmt::print(out, "{:<14}{}\n", name, printable(fmt::format(text, std::forward<Args>(args)...)));
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

/// What the links of a file are. Errors come after all has been printed.
void print_links(std::ostream& out, const GaugeFile& file) {
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
  if (const std::optional<Error> error = contradiction(file.info)) throw *error;
  check_links(file.info, worst);
}

void print_gauge(std::ostream& out, const LimeInput& input) {
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
  print_links(out, load_gauge_field(input, std::move(about)));
}

void print_propagator(std::ostream& out, const LimeInput& input) {
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
  if (checksum.state == ChecksumVerdict::State::mismatch)
    throw checksum_error(lime_location(input.path(), about.data), checksum);
}

void print_low_modes(std::ostream& out, const LimeInput& input) {
  const LowModesHeader about = locate_low_modes(input);
  line(out, "content", "{} low modes for deflation", about.count);
  print_dims(out, about.dims);
  line(out, "sites", "{}", about.subset == Subset::Odd ? "odd" : "even");
  line(out, "precision", "{} bits", about.precision);
  line(out, "origin", "{}", about.origin.dump());
}

bool has_gauge_field(const LimeInput& input) {
  return input.find("ildg-binary-data") || (input.find("scidac-binary-data") && !has_propagator(input));
}

/// Whether one of these, or a parameter within it, is an input file whose help names the format; `help` is that of what
/// they are within.
bool reads(const std::vector<Parameter>& parameters, const std::string& format, const std::string& help = {}) {
  return std::any_of(parameters.begin(), parameters.end(), [&](const Parameter& one) {
    const std::string& said = one.help.empty() ? help : one.help;
    if (one.type == ParameterType::file_in && said.find(format) != std::string::npos) return true;
    if (reads(one.members, format, said) || reads(one.element, format, said)) return true;
    return std::any_of(one.entries.begin(), one.entries.end(),
                       [&](const ParameterEntry& entry) { return reads(entry.table.parameters, format, said); });
  });
}

void print_readers(std::ostream& out, const std::string& format) {
  std::vector<std::string> names;
  for (const TaskEntry* task : task_registry()) {
    if (reads(task->table.parameters, format)) names.push_back(task->name);
  }
  line(out, "read by tasks", "{}",
       names.empty() ? "none of the modules that are loaded"
                     : fmt::format("{} (quadrille help task NAME)", fmt::join(names, ", ")));
}

void print_lime(std::ostream& out, const LimeInput& input) {
  print_records(out, input);
  if (has_gauge_field(input)) return print_gauge(out, input);
  if (has_propagator(input)) return print_propagator(out, input);
  if (has_low_modes(input)) return print_low_modes(out, input);
  line(out, "content", "neither a gauge field nor a propagator nor low modes");
}

}  // namespace

void info(const std::string& path, std::ostream& out) {
  const FileKind kind = file_kind(path);
  if (kind == FileKind::other) throw not_lime_error(path);
  line(out, "file", "{}", path);
  line(out, "format", "{}", to_string(kind));
  if (kind == FileKind::lime) return print_lime(out, LimeInput(path));
  for (const auto& [name, text] : header_of(path, kind)) line(out, name.c_str(), "{}", text);
  if (!is_gauge_format(kind)) return print_readers(out, to_string(kind));
  print_links(out, read_gauge_file(path, {.judge_only = true}));
}

}  // namespace quadrille
