#include "input/sources/file.h"

#include "core/field/convert.h"
#include "input/files/lattice_data.h"
#include "input/files/propagator_file.h"
#include "input/sources/point.h"

#include <fmt/format.h>

#include <memory>

namespace quadrille {

namespace {

std::string path_of_source(const Parameters& source, const std::filesystem::path& job_folder) {
  return (job_folder / source.text("file")).string();
}

void check_file_source(const Parameters& source, const Dims& dims, const std::filesystem::path& job_folder) {
  check_site(source, dims);
  const std::string path = path_of_source(source, job_folder);
  try {
    const PropagatorFileInfo info = locate_propagator(LimeInput(path));
    if (info.dims == dims) return;
    throw Error(ErrorCode::file, fmt::format("{}: this source is on a {} lattice, not on one of {}", path,
                                             extents_text(info.dims), extents_text(dims)));
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("'source.file': {}", error.what()), source.where("file"));
  }
}

MakeColumn file_maker(const Parameters& source, const SourceSetting& setting, const SliceSmearing*) {
  // In the host's memory: a backend holds one column of it at a time.
  const auto read = std::make_shared<Propagator>(
      read_propagator_file(path_of_source(source, setting.job_folder), setting.links.lattice(), cpu_backend())
          .propagator);
  return [read](Field& b, int spin, int color) {
    convert(b, read->columns[std::size_t(3 * spin + color)]);
    from_degrand_rossi(b);
  };
}

Dims file_position(const Parameters& source) { return source.integer4("site"); }

std::vector<std::pair<std::string, std::string>> file_elements(const Parameters& source) {
  return {{"file", source.text("file")}};
}

}  // namespace

SourceEntry file_source() {
  SourceEntry entry;
  entry.name = "file";
  entry.table.name = "source file";
  entry.table.help =
      "the columns of a propagator file (SciDAC): what another program, or another job, has made as a source; any time "
      "slices";
  entry.table.parameters = {
      {.name = "file",
       .type = ParameterType::file_in,
       .help = "the file; with several configurations {name} in it stands for the name of each",
       .required = true},
      {.name = "site",
       .type = ParameterType::integer4,
       .help = "the site x, y, z, t that correlators are counted from; smearing acts on its time slice",
       .required = true,
       .minimum = 0}};
  entry.check = check_file_source;
  entry.maker = file_maker;
  entry.position = file_position;
  entry.file_elements = file_elements;
  return entry;
}

}  // namespace quadrille
