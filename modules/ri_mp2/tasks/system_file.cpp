#include "modules/ri_mp2/tasks/system_file.h"

#include "core/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace quadrille::ri_mp2 {
namespace {

void require_dims(const Hdf5Reader& file, const char* name, const std::vector<std::int64_t>& dims,
                  const std::vector<std::int64_t>& wanted) {
  if (dims == wanted) return;
  throw Error(ErrorCode::file,
              fmt::format("must have the shape [{}], to match ia_P, but has [{}]", fmt::join(wanted, ", "),
                          fmt::join(dims, ", ")),
              Location{.file = file.path(), .dataset = name});
}

}  // namespace

System read_system(const Hdf5Reader& file) {
  System system = open_system(file);
  system.ia_p = file.read("ia_P", 3).data;
  system.read_ia_p = {};
  return system;
}

System open_system(const Hdf5Reader& file) {
  check_system(file);
  const std::vector<std::int64_t> ia_p = file.dims("ia_P", 3);
  return {ia_p[0],
          ia_p[1],
          ia_p[2],
          {},
          file.read("P_Q", 2).data,
          file.read("eps_occ", 1).data,
          file.read("eps_vir", 1).data,
          file.path(),
          [&file](std::int64_t first, std::int64_t count, double* to) { file.read_part("ia_P", 3, first, count, to); }};
}

void check_system(const Hdf5Reader& file) {
  const std::vector<std::int64_t> ia_p = file.dims("ia_P", 3);
  require_dims(file, "P_Q", file.dims("P_Q", 2), {ia_p[2], ia_p[2]});
  require_dims(file, "eps_occ", file.dims("eps_occ", 1), {ia_p[0]});
  require_dims(file, "eps_vir", file.dims("eps_vir", 1), {ia_p[1]});
  check_orbital_energies(
      {ia_p[0], ia_p[1], ia_p[2], {}, {}, file.read("eps_occ", 1).data, file.read("eps_vir", 1).data, file.path()});
}

}  // namespace quadrille::ri_mp2
