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
  check_system(file);
  Hdf5Array ia_p = file.read("ia_P", 3);
  return {ia_p.dims[0],
          ia_p.dims[1],
          ia_p.dims[2],
          std::move(ia_p.data),
          file.read("P_Q", 2).data,
          file.read("eps_occ", 1).data,
          file.read("eps_vir", 1).data,
          file.path()};
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
