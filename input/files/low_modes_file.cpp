#include "input/files/low_modes_file.h"

#include "core/blas/blas.h"
#include "core/field/convert.h"
#include "core/field/propagator.h"
#include "core/gauge/observables.h"
#include "input/files/lattice_data.h"
#include "input/files/lime/scidac.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace quadrille {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* modes_header_type = "quadrille-low-modes";
constexpr const char* modes_type = "quadrille-low-modes-data";
constexpr int modes_together = Propagator::size;
constexpr int reals = modes_together * spinor_numbers;

std::string real_name(const Dims& dims, std::int64_t real) {
  const Dims x = site_coordinates(dims, real / reals);
  const std::int64_t n = real % reals / 2;
  return fmt::format("site ({},{},{},{}), spin {}, color {}, mode {} of the twelve of the record", x[0], x[1], x[2],
                     x[3], n / 36, n / 3 % 3, n / 9 % 4 * 3 + n % 3);
}

int messages_of(int count) { return (count - 1) / modes_together + 1; }

/// Twelve fields on the full lattice, through which modes go.
Propagator staging(const FieldDesc& modes) {
  // The bits as they are: nobody rotates spins.
  return make_propagator(FieldDesc::spinor(*modes.lattice, Subset::Full, Precision::Double, *modes.backend),
                         Propagator::Sink::degrand_rossi);
}

void put(Propagator& to, std::span<const Field* const> modes) {
  for (std::size_t k = 0; k < to.columns.size(); ++k) {
    blas::zero(to.columns[k]);
    if (k >= modes.size()) continue;
    Field half = to.columns[k].parity(parity_of(modes[k]->desc().subset));
    convert(half, *modes[k]);
  }
}

Json header_json(const FieldDesc& desc, int count, int precision, const Json& origin) {
  return {{"version", 1},
          {"count", count},
          {"precision", precision},
          {"dims", desc.lattice->global_dims()},
          {"parity", desc.subset == Subset::Odd ? "odd" : "even"},
          {"program", "Quadrille " QUADRILLE_VERSION},
          {"origin", origin}};
}

LowModesHeader header_from(const Json& json) {
  LowModesHeader header;
  json.at("count").get_to(header.count);
  json.at("precision").get_to(header.precision);
  json.at("dims").get_to(header.dims);
  header.subset = json.at("parity") == "odd" ? Subset::Odd : Subset::Even;
  header.origin = json.at("origin");
  return header;
}

std::vector<const LimeRecord*> data_records(const LimeInput& file) {
  std::vector<const LimeRecord*> found;
  for (const LimeRecord& record : file.records()) {
    if (record.type == modes_type) found.push_back(&record);
  }
  return found;
}

}  // namespace

void write_low_modes_file(const std::string& path, std::span<const Field* const> modes, const Json& origin) {
  const FieldDesc& desc = modes.front()->desc();
  const Lattice& lattice = *desc.lattice;
  const Dims& dims = lattice.global_dims();
  const int precision = desc.precision == Precision::Double ? 64 : 32;
  const DataFormat format{.dims = dims, .reals = reals, .precision = precision, .lattice = &lattice};
  Propagator twelve = staging(desc);
  LimeOutput file(path, LimeMover::automatic, lattice.communicator());
  file.record(modes_header_type, header_json(desc, int(modes.size()), precision, origin).dump(2), true, true);
  for (std::size_t first = 0; first < modes.size(); first += modes_together) {
    put(twelve, modes.subspan(first, std::min(modes.size() - first, std::size_t(modes_together))));
    file.begin_record(modes_type, field_bytes(format).value(), true, false);
    const Checksum sum = write_pieces(
        file, format, *desc.backend,
        [&](void* bytes, std::int64_t begin, std::int64_t count) {
          pack_sites(bytes, {&twelve, begin, count, precision});
        },
        [&dims](std::int64_t real) { return real_name(dims, real); });
    file.end_record();
    file.record("scidac-checksum", checksum_xml(sum), false, true);
  }
  file.commit();
}

bool has_low_modes(const LimeInput& file) { return file.find(modes_header_type) != nullptr; }

LowModesHeader locate_low_modes(const LimeInput& file) {
  const LimeRecord* const said = file.find(modes_header_type);
  if (said == nullptr) {
    fail_in_file(fmt::format("there are no low modes in this file: it has no record {}", modes_header_type),
                 {.file = file.path()});
  }
  const Location where = lime_location(file.path(), *said);
  LowModesHeader header;
  try {
    header = header_from(Json::parse(file.text(*said)));
  } catch (const Json::exception& error) {
    fail_in_file(fmt::format("this record does not say what the low modes are: {}", error.what()), where);
  }
  if (header.count < 1 || (header.precision != 32 && header.precision != 64)) {
    fail_in_file(fmt::format("expected 1 or more modes in 32 or 64 bits, got {} in {}", header.count, header.precision),
                 where);
  }
  check_extents(header.dims, where);
  const std::vector<const LimeRecord*> data = data_records(file);
  if (int(data.size()) != messages_of(header.count)) {
    fail_in_file(fmt::format("{} modes take {} records {}, the file has {}", header.count, messages_of(header.count),
                             modes_type, data.size()),
                 where);
  }
  const auto right = field_bytes({.dims = header.dims, .reals = reals, .precision = header.precision});
  for (const LimeRecord* const record : data) {
    if (right == record->length) continue;
    fail_in_file(fmt::format("this record has {} bytes, twelve modes on a {} lattice in {} bits take {}",
                             record->length, extents_text(header.dims), header.precision,
                             right ? fmt::format("{}", *right) : "more than any file can hold"),
                 lime_location(file.path(), *record));
  }
  return header;
}

void read_low_modes(const LimeInput& file, const FieldDesc& desc, int most,
                    const std::function<void(const Field&)>& use) {
  const LowModesHeader header = locate_low_modes(file);
  const Lattice& lattice = *desc.lattice;
  const Location where = lime_location(file.path(), *file.find(modes_header_type));
  if (header.dims != lattice.global_dims()) {
    fail_in_file(fmt::format("these low modes are on a {} lattice, not on one of {}", extents_text(header.dims),
                             extents_text(lattice.global_dims())),
                 where);
  }
  if (header.subset != desc.subset) {
    fail_in_file(
        fmt::format("these low modes live on {} sites, and {} are needed (preconditioning.parity)",
                    header.subset == Subset::Odd ? "odd" : "even", desc.subset == Subset::Odd ? "odd" : "even"),
        where);
  }
  Propagator twelve = staging(desc);
  Field mode(desc);
  const FileField field{{header.dims, reals, header.precision, &lattice}, "low modes", real_name};
  const ChecksumDemand demand{true, "without these low modes solves find them anew"};
  int left = std::min(header.count, most);
  for (const LimeRecord* const record : data_records(file)) {
    if (left <= 0) break;
    (void)read_field(
        file, *record, field, *desc.backend,
        [&](const void* bytes, std::int64_t first, std::int64_t count) {
          unpack_sites({&twelve, first, count, header.precision}, bytes);
        },
        &demand);
    for (int k = 0; k < modes_together && left > 0; ++k, --left) {
      convert(mode, std::as_const(twelve.columns[std::size_t(k)]).parity(parity_of(desc.subset)));
      use(mode);
    }
  }
}

}  // namespace quadrille
