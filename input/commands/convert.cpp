#include "input/commands/convert.h"

#include "core/error.h"
#include "input/files/file_kind.h"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <filesystem>
#include <ostream>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

void check_target(const ConvertOptions& options) {
  std::error_code failed;
  if (fs::equivalent(options.in, options.out, failed)) {
    throw Error(ErrorCode::file, "is the file that is read: choose another name", {.file = options.out});
  }
  if (!options.force && fs::is_regular_file(options.out, failed)) {
    throw Error(ErrorCode::file, "a file of that name exists; --force replaces it", {.file = options.out});
  }
}

}  // namespace

void convert_file(const ConvertOptions& options, std::ostream& out) {
  check_target(options);
  const GaugeFile read = read_gauge_file(options.in);
  check_links(read.info, read.links->unitarity());
  GaugeExport how{.precision = options.precision, .rows = options.rows};
  const bool any_precision = options.format == "ildg" || options.format == "nersc";
  if (how.precision == 0 && any_precision) how.precision = read.info.precision;
  gauge_writer(options.format)(options.out, *read.links, how);
  const GaugeFile written = read_gauge_file(options.out);
  fmt::print(out, "{}: {} bits, {} x {} x {} x {}, plaquette {:.15g}\n", options.out, written.info.precision,
             written.info.dims[0], written.info.dims[1], written.info.dims[2], written.info.dims[3],
             written.links->observables().plaquette);
  if (written.info.precision < read.info.precision) {
    fmt::print(out, "rounded from {} bits\n", read.info.precision);
  }
}

}  // namespace quadrille
