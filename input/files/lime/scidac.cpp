#include "input/files/lime/scidac.h"

#include "core/system/log.h"
#include "input/files/lime/xml.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>
#include <sstream>

namespace quadrille {

namespace {

/// The checksum record that belongs to `data`: in its message, or later before any other binary data.
const LimeRecord* checksum_record(const LimeInput& file, const LimeRecord& data) {
  for (const LimeRecord& record : file.records()) {
    if (record.number <= data.number) continue;
    if (record.type == "scidac-checksum") return &record;
    if (record.type.ends_with("binary-data")) break;
  }
  return file.find("scidac-checksum", data.message);
}

int to_int(std::int64_t value, const char* what, const Location& where) {
  if (value > std::numeric_limits<int>::max())
    throw Error(ErrorCode::file, fmt::format("{} is {}, which is too large", what, value), where);
  return int(value);
}

void demand_checksum(const LimeInput& file, const LimeRecord& data, const ChecksumVerdict& verdict,
                     const ChecksumDemand& demand) {
  if (verdict.state != ChecksumVerdict::State::mismatch) return;
  const Error error = checksum_error(lime_location(file.path(), data), verdict);
  if (demand.verify) throw Error(error.code(), fmt::format("{} ({})", error.message(), demand.way_out), error.where());
  log().warn("{}", error.what());
}

}  // namespace

Error checksum_error(const Location& data, const ChecksumVerdict& mismatch) {
  return Error(ErrorCode::file,
               fmt::format("checksum mismatch: the file says {}, but the data give {}; {}",
                           to_string(mismatch.stored, mismatch.kind), to_string(mismatch.computed, mismatch.kind),
                           mismatch.cause.empty() ? "the file is damaged" : mismatch.cause),
               data);
}

std::optional<ScidacRecord> scidac_record(const LimeInput& file, const LimeRecord& data) {
  const LimeRecord* record = file.find("scidac-private-record-xml", data.message);
  if (!record) return std::nullopt;
  const Location where = lime_location(file.path(), *record);
  const Xml xml(file.text(*record), where);
  ScidacRecord found;
  found.datatype = xml.find("scidacRecord/datatype").value_or("");
  const std::string precision = xml.text("scidacRecord/precision");
  if (precision == "D" || precision == "d") found.precision = 64;
  if (precision == "F" || precision == "f") found.precision = 32;
  const auto number = [&](const char* path) { return xml.has(path) ? xml.integer(path) : 0; };
  found.colors = number("scidacRecord/colors");
  found.spins = number("scidacRecord/spins");
  found.typesize = to_int(xml.integer("scidacRecord/typesize"), "typesize", where);
  found.datacount = to_int(xml.integer("scidacRecord/datacount"), "datacount", where);
  found.is_field = number("scidacRecord/recordtype") == 0 && number("scidacRecord/globaldata") == 0;
  return found;
}

std::optional<Dims> scidac_dims(const LimeInput& file) {
  const LimeRecord* record = file.find("scidac-private-file-xml");
  if (!record) return std::nullopt;
  const Location where = lime_location(file.path(), *record);
  const Xml xml(file.text(*record), where);
  const std::string text = xml.text("scidacFile/dims");
  std::istringstream words(text);
  Dims dims{};
  std::string rest;
  for (int& extent : dims) words >> extent;
  if (!words || (words >> rest))
    throw Error(ErrorCode::file, fmt::format("<dims> is '{}'; it should be four extents (x y z t)", text), where);
  if (xml.has("scidacFile/volfmt") && xml.integer("scidacFile/volfmt") != 0)
    throw Error(ErrorCode::unsupported,
                "<volfmt> is not 0: the field is spread over several files; first join them into one (SINGLEFILE)",
                where);
  return dims;
}

std::string text_beside(const LimeInput& file, const LimeRecord& data, const char* type) {
  const LimeRecord* record = file.find(type, data.message);
  return record ? file.text(*record) : std::string();
}

std::string to_string(const ChecksumVerdict& verdict) {
  switch (verdict.state) {
    case ChecksumVerdict::State::ok: return fmt::format("ok ({})", to_string(verdict.stored, verdict.kind));
    case ChecksumVerdict::State::missing:
      return fmt::format("missing (computed {})", to_string(verdict.computed, verdict.kind));
    case ChecksumVerdict::State::mismatch: break;
  }
  return fmt::format("mismatch (the file says {}; the data give {})", to_string(verdict.stored, verdict.kind),
                     to_string(verdict.computed, verdict.kind));
}

ChecksumVerdict judge_checksum(const LimeInput& file, const LimeRecord& data, const Checksum& computed) {
  ChecksumVerdict verdict{.computed = computed};
  const LimeRecord* record = checksum_record(file, data);
  if (!record) return verdict;
  const Xml xml(file.text(*record), lime_location(file.path(), *record));
  verdict.stored = {xml.hexadecimal("scidacChecksum/suma"), xml.hexadecimal("scidacChecksum/sumb")};
  verdict.state = verdict.stored == computed ? ChecksumVerdict::State::ok : ChecksumVerdict::State::mismatch;
  return verdict;
}

namespace {

ChecksumVerdict judge_field(const LimeInput& file, const LimeRecord& record, const FileField& field,
                            const SiteData& found, const ChecksumDemand* demand) {
  const ChecksumVerdict verdict = judge_checksum(file, record, found.checksum);
  // The checksum first: a damaged file is the likelier cause of a NaN.
  if (demand) demand_checksum(file, record, verdict, *demand);
  if (found.not_finite < 0) return verdict;
  throw Error(
      ErrorCode::numerical,
      fmt::format("the {} contains {} at {}; every number should be finite", field.what, found.value,
                  field.name(field.format.dims, found.not_finite)),
      lime_location(file.path(), record, std::uint64_t(found.not_finite) * std::uint64_t(field.format.precision) / 8));
}

}  // namespace

ChecksumVerdict read_field(const LimeInput& file, const LimeRecord& record, const FileField& field, Backend& backend,
                           const UnpackSites& unpack, const ChecksumDemand* demand) {
  const SiteData found = read_pieces(file, record, field.format, backend, unpack);
  return judge_field(file, record, field, found, demand);
}

ChecksumVerdict read_field(const LimeInput& file, const LimeRecord& record, const FileField& field, double* data,
                           const ChecksumDemand* demand) {
  return judge_field(file, record, field, read_sites(file, record, field.format, data), demand);
}

std::string checksum_xml(const Checksum& sum) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><scidacChecksum><version>1.0</version><suma>{:08x}</suma>"
      "<sumb>{:08x}</sumb></scidacChecksum>",
      sum.a, sum.b);
}

std::string private_file_xml(const Dims& dims) {
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><scidacFile><version>1.1</version><spacetime>4</spacetime>"
      "<dims>{} {} {} {} </dims><volfmt>0</volfmt></scidacFile>",
      dims[0], dims[1], dims[2], dims[3]);
}

std::string private_record_xml(const std::string& datatype, int precision, int spins, int typesize, int datacount) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  char date[64];
  std::strftime(date, sizeof date, "%a %b %d %H:%M:%S %Y UTC", &utc);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?><scidacRecord><version>1.1</version><date>{}</date>"
      "<recordtype>0</recordtype><datatype>{}</datatype><precision>{}</precision><colors>3</colors><spins>{}</spins>"
      "<typesize>{}</typesize><datacount>{}</datacount></scidacRecord>",
      date, datatype, precision == 64 ? 'D' : 'F', spins, typesize, datacount);
}

}  // namespace quadrille
