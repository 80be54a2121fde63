#include "input/files/gauge_file.h"

#include "core/system/log.h"
#include "input/files/file_kind.h"
#include "input/files/lattice_data.h"
#include "input/files/lime/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace quadrille {

namespace {

constexpr int gauge_reals = 72;
constexpr const char* ildg_data = "ildg-binary-data";
constexpr const char* scidac_data = "scidac-binary-data";

/// The ildg-format of the data's own message, else the nearest one before it, else any.
const LimeRecord* ildg_format_record(const LimeInput& file, const LimeRecord& data) {
  if (const LimeRecord* record = file.find("ildg-format", data.message)) return record;
  const LimeRecord* nearest = nullptr;
  for (const LimeRecord& record : file.records())
    if (record.type == "ildg-format" && (!nearest || record.number < data.number)) nearest = &record;
  return nearest;
}

int extent(const Xml& xml, const char* path) {
  const std::int64_t value = xml.integer(path, std::numeric_limits<int>::min());
  if (value > std::numeric_limits<int>::max())
    fail_in_file(fmt::format("<{}> is {}, which is too large", path, value), xml.where());
  return int(value);
}

void read_ildg_format(const LimeInput& file, GaugeFileInfo& info) {
  const LimeRecord* record = ildg_format_record(file, info.data);
  if (!record)
    fail_in_file("there is no ildg-format record, which should give the extents and precision of this data",
                 lime_location(file.path(), info.data));
  const Location where = lime_location(file.path(), *record);
  const Xml xml(file.text(*record), where);
  const std::string field = xml.text("ildgFormat/field");
  if (field != "su3gauge") fail_in_file(fmt::format("<field> is '{}'; only su3gauge can be read", field), where);
  const std::int64_t precision = xml.integer("ildgFormat/precision");
  if (precision != 32 && precision != 64)
    fail_in_file(fmt::format("<precision> is {}; it should be 32 or 64", precision), where);
  info.precision = int(precision);
  info.dims = {extent(xml, "ildgFormat/lx"), extent(xml, "ildgFormat/ly"), extent(xml, "ildgFormat/lz"),
               extent(xml, "ildgFormat/lt")};
  check_extents(info.dims, where);
  if (const std::optional<Dims> scidac = scidac_dims(file); scidac && *scidac != info.dims)
    fail_in_file(fmt::format("the lattice is {} here but {} in scidac-private-file-xml; they should agree",
                             extents_text(info.dims), extents_text(*scidac)),
                 where);
}

void read_scidac_format(const LimeInput& file, GaugeFileInfo& info) {
  const std::optional<ScidacRecord> record = scidac_record(file, info.data);
  const std::optional<Dims> dims = scidac_dims(file);
  const Location where = lime_location(file.path(), info.data);
  if (!record)
    fail_in_file("there is no scidac-private-record-xml in this message, which should describe this data", where);
  if (!dims) fail_in_file("there is no scidac-private-file-xml, which should give the extents of the lattice", where);
  const Location private_xml = lime_location(file.path(), *file.find("scidac-private-record-xml", info.data.message));
  if (!record->is_field)
    fail_in_file("<recordtype> (or <globaldata>) is not 0: this is not a field on the whole lattice", private_xml);
  if (record->precision == 0) fail_in_file("<precision> is neither F (32 bits) nor D (64 bits)", private_xml);
  if (record->reals_per_site() != gauge_reals)
    fail_in_file(
        fmt::format(
            "the data are '{}' of {} x {} bytes per site, not a gauge field: four links in {} bits take 4 x {} bytes",
            record->datatype, record->datacount, record->typesize, record->precision, 18 * record->precision / 8),
        private_xml);
  info.precision = record->precision;
  info.dims = *dims;
  check_extents(info.dims, lime_location(file.path(), *file.find("scidac-private-file-xml")));
}

void check_length(const LimeInput& file, const GaugeFileInfo& info) {
  const auto needed = [&info](int precision) {
    return field_bytes({.dims = info.dims, .reals = gauge_reals, .precision = precision});
  };
  const std::optional<std::uint64_t> right = needed(info.precision);
  if (right == info.data.length) return;
  const int other = 96 - info.precision;
  fail_in_file(
      fmt::format("this record has {} bytes of data, but the links of a {} lattice in {} bits take {}{}",
                  info.data.length, extents_text(info.dims), info.precision,
                  right ? fmt::format("{} bytes", *right) : "more than any file can hold",
                  needed(other) == info.data.length ? fmt::format("; the length is right for {} bits", other) : ""),
      lime_location(file.path(), info.data));
}

/// The first gauge field: ILDG data when there is any, else SciDAC data whose private record says so.
const LimeRecord* find_gauge_data(const LimeInput& file) {
  std::vector<const LimeRecord*> ildg, scidac, any_scidac;
  for (const LimeRecord& record : file.records()) {
    if (record.type == ildg_data) ildg.push_back(&record);
    if (record.type != scidac_data) continue;
    any_scidac.push_back(&record);
    const std::optional<ScidacRecord> kind = scidac_record(file, record);
    if (kind && kind->is_field && kind->reals_per_site() == gauge_reals) scidac.push_back(&record);
  }
  const auto& fields = !ildg.empty() ? ildg : !scidac.empty() ? scidac : any_scidac;
  if (fields.empty()) return nullptr;
  if (fields.size() > 1)
    log().warn("{}: {} gauge fields in this file; the first is used", to_string(lime_location(file.path(), *fields[0])),
               fields.size());
  return fields[0];
}

DataFormat format_of(const Lattice& lattice, int bits) {
  return {.dims = lattice.global_dims(), .reals = gauge_reals, .precision = bits, .lattice = &lattice};
}

GaugeFile load(const LimeInput& file, GaugeFileInfo info, Backend& backend,
               std::shared_ptr<const Communicator> communicator, const ChecksumDemand* demand = nullptr) {
  GaugeFile loaded{std::move(info), nullptr, nullptr};
  loaded.lattice = std::make_unique<const Lattice>(loaded.info.dims, std::move(communicator));
  loaded.links = std::make_shared<GaugeStore>(*loaded.lattice, backend);
  const int bits = loaded.info.precision;
  const FileField field{format_of(*loaded.lattice, bits), "gauge field", gauge_real_name};
  const auto unpack = [&](const void* bytes, std::int64_t first, std::int64_t count) {
    loaded.links->unpack(bytes, bits, first, count);
  };
  loaded.info.checksum = read_field(file, loaded.info.data, field, backend, unpack, demand);
  loaded.links->changed();
  if (bits == 64) loaded.info.links_sum = loaded.info.checksum.computed;
  return loaded;
}

/// That of a file; LIME's where it has none, which says what is wrong.
GaugeReader reader_for(const std::string& path) {
  const GaugeReader* const reader = gauge_reader(file_kind(path));
  return reader != nullptr ? *reader : GaugeReader{locate_lime_gauge, read_lime_gauge};
}

/// Of a record XML of this program; those of others may be any text.
LinkOrigin origin_of(const std::string& record_xml) {
  if (record_xml.find("<origin>") == record_xml.npos) return {};
  try {
    LinkOrigin origin = Xml(record_xml, {}).children("gauge/origin");
    for (auto& [name, value] : origin) {  // one line each on a terminal
      std::replace_if(
          value.begin(), value.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
    }
    return origin;
  } catch (const Error&) {
    return {};
  }
}

std::string origin_xml(const LinkOrigin& origin) {
  if (origin.empty()) return {};
  std::string out = "<origin>";
  for (const auto& [name, value] : origin) out += fmt::format("<{0}>{1}</{0}>", name, xml_escaped(value));
  return out + "</origin>";
}

}  // namespace

GaugeFileInfo locate_gauge_field(const LimeInput& file) {
  const LimeRecord* data = find_gauge_data(file);
  if (!data) {
    std::string types;
    for (const LimeRecord& record : file.records()) types += (types.empty() ? "" : ", ") + record.type;
    fail_in_file(fmt::format("there is no gauge field in this file: it needs a record {} or {}, but has {}", ildg_data,
                             scidac_data, types),
                 {.file = file.path()});
  }
  GaugeFileInfo info;
  info.path = file.path();
  info.records = file.records();
  info.data = *data;
  info.format = data->type == ildg_data ? "ildg" : "scidac";
  if (info.format == "ildg")
    read_ildg_format(file, info);
  else
    read_scidac_format(file, info);
  check_length(file, info);
  const auto first_text = [&file](const char* type) {
    const LimeRecord* record = file.find(type);
    return record ? file.text(*record) : std::string();
  };
  info.lfn = first_text("ildg-data-lfn");
  info.file_xml = first_text("scidac-file-xml");
  info.record_xml = text_beside(file, *data, "scidac-record-xml");
  info.xlf_info = first_text("xlf-info");
  info.origin = origin_of(info.record_xml);
  return info;
}

GaugeFile load_gauge_field(const LimeInput& file, GaugeFileInfo info, Backend& backend) {
  return load(file, std::move(info), backend, single_process());
}

GaugeFileInfo gauge_file_info(const std::string& path) { return reader_for(path).locate(path); }

GaugeFile read_gauge_file(const std::string& path, const GaugeReadOptions& options) {
  return reader_for(path).read(path, options);
}

GaugeFileInfo locate_lime_gauge(const std::string& path) { return locate_gauge_field(LimeInput(path)); }

GaugeFile read_lime_gauge(const std::string& path, const GaugeReadOptions& options) {
  const LimeInput file(path, options.mover);
  file.log_warnings();
  const ChecksumDemand demand{options.verify_checksum, "gauge.verify_checksum: false makes this a warning"};
  GaugeFileInfo info = locate_gauge_field(file);
  const std::shared_ptr<const Communicator> ranks =
      options.communicator ? options.communicator : options.ranks.for_lattice(info.dims);
  return load(file, std::move(info), options.backend != nullptr ? *options.backend : cpu_backend(), ranks,
              options.judge_only ? nullptr : &demand);
}

std::optional<Error> contradiction(const GaugeFileInfo& info) {
  if (info.checksum.state == ChecksumVerdict::State::mismatch)
    return checksum_error(link_location(info), info.checksum);
  for (const StatedNumber& one : info.stated) {
    if (std::abs(one.found - one.value) <= one.allowed) continue;
    return Error(
        ErrorCode::file,
        fmt::format("the header says {} = {:.12g}, but that of the links is {:.12g}; they may differ by {:.2g}",
                    one.key, one.value, one.found, one.allowed),
        {.file = info.path, .byte = one.byte});
  }
  return {};
}

Location link_location(const GaugeFileInfo& info, std::int64_t links) {
  const std::uint64_t offset = std::uint64_t(links) * 6U * unsigned(info.plain.rows) * unsigned(info.precision) / 8;
  if (info.data.number > 0) return lime_location(info.path, info.data, offset);
  if (info.format == "openqcd") return {.file = info.path};  // links stand in another order
  return {.file = info.path, .byte = std::int64_t(info.plain.data_byte + offset)};
}

std::string gauge_real_name(const Dims& dims, std::int64_t real) {
  const std::int64_t component = real % 18;
  return fmt::format("{} (row {}, column {})", link_name(dims, real / gauge_reals, int(real % gauge_reals / 18)),
                     component / 6, component / 2 % 3);
}

double link_tolerance(int precision) { return precision == 32 ? 1e-5 : 1e-10; }

void check_links(const GaugeFileInfo& info, const Unitarity& found) {
  const double tolerance = link_tolerance(info.precision);
  const bool bad_square = !(found.unitarity <= tolerance);
  if (!bad_square && found.determinant <= tolerance) return;
  const std::int64_t site = bad_square ? found.unitarity_site : found.determinant_site;
  const int direction = bad_square ? found.unitarity_direction : found.determinant_direction;
  throw Error(ErrorCode::numerical,
              fmt::format("the links are not in SU(3): {} is {:.3g} at {}; a {}-bit file may have at most {:g}. "
                          "gauge.reunitarize: true projects the links on SU(3)",
                          bad_square ? "|U U^+ - 1|" : "|det U - 1|", bad_square ? found.unitarity : found.determinant,
                          link_name(info.dims, site, direction), info.precision, tolerance),
              link_location(info, site * 4 + direction));
}

Checksum write_gauge_file(const std::string& path, const HostLinks& links, const GaugeWriteOptions& options) {
  const std::shared_ptr<const Communicator> ranks = options.communicator ? options.communicator : single_process();
  Dims global;
  for (std::size_t mu = 0; mu < 4; ++mu) global[mu] = links.dims[mu] * ranks->grid()[mu];
  const Lattice lattice(global, ranks);
  return write_gauge_file(path, GaugeStore(lattice, links), options);
}

Checksum checksum_of(const GaugeStore& links, int bits) {
  return check_pieces(
             format_of(links.lattice(), bits), links.backend(),
             [&](void* bytes, std::int64_t first, std::int64_t count) { links.pack(bytes, bits, first, count); })
      .checksum;
}

Checksum write_gauge_file(const std::string& path, const GaugeStore& links, const GaugeWriteOptions& options) {
  if (options.precision != 32 && options.precision != 64)
    throw Error(ErrorCode::invalid_input,
                fmt::format("cannot write {}-bit links, only 32 or 64 bits", options.precision));
  const Dims& dims = links.lattice().global_dims();
  const DataFormat format = format_of(links.lattice(), options.precision);
  const bool single = options.precision == 32;
  const GaugeObservables observables = links.observables();
  // QIO reads its XML records as C strings: each carries its NUL.
  const auto with_nul = [](std::string text) { return text + '\0'; };
  const std::string head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>";
  const std::string file_xml =
      head + "<gauge><title>Gauge field written by Quadrille " QUADRILLE_VERSION "</title></gauge>";
  const std::string record_xml =
      head + fmt::format("<gauge><plaquette>{:.17g}</plaquette><link_trace>{:.17g}</link_trace>{}</gauge>",
                         observables.plaquette, observables.link_trace, origin_xml(options.origin));
  const std::string ildg_format =
      head + fmt::format(
                 "<ildgFormat xmlns=\"http://www.lqcd.org/ildg\" "
                 "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" "
                 "xsi:schemaLocation=\"http://www.lqcd.org/ildg/filefmt.xsd\"><version>1.0</version>"
                 "<field>su3gauge</field><precision>{}</precision><lx>{}</lx><ly>{}</ly><lz>{}</lz><lt>{}</lt>"
                 "</ildgFormat>",
                 options.precision, dims[0], dims[1], dims[2], dims[3]);

  LimeOutput file(path, options.mover, links.lattice().communicator());
  file.record("scidac-private-file-xml", with_nul(private_file_xml(dims)), true, false);
  file.record("scidac-file-xml", with_nul(file_xml), false, true);
  file.record("scidac-private-record-xml",
              with_nul(private_record_xml(single ? "QDP_F3_ColorMatrix" : "QDP_D3_ColorMatrix", options.precision, 1,
                                          18 * options.precision / 8, 4)),
              true, false);
  file.record("scidac-record-xml", with_nul(record_xml), false, false);
  file.record("ildg-format", with_nul(ildg_format), false, false);
  if (!options.lfn.empty()) file.record("ildg-data-lfn", with_nul(options.lfn), false, false);
  file.begin_record(ildg_data, field_bytes(format).value(), false, false);
  const auto pack = [&](void* bytes, std::int64_t first, std::int64_t count) {
    links.pack(bytes, options.precision, first, count);
  };
  const Checksum sum = write_pieces(file, format, links.backend(), pack,
                                    [&dims](std::int64_t real) { return gauge_real_name(dims, real); });
  file.end_record();
  file.record("scidac-checksum", with_nul(checksum_xml(sum)), false, true);
  file.commit();
  return sum;
}

}  // namespace quadrille
