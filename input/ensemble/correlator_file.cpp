#include "input/ensemble/correlator_file.h"

#include "modules/shared/hdf5/hdf5_file.h"

namespace quadrille {

void write_correlator_file(const std::string& path, const std::vector<CorrelatorRows>& correlators,
                           const std::vector<std::string>& names, const std::vector<std::string>& files) {
  Hdf5Writer file(path);
  file.attribute("program", "Quadrille " QUADRILLE_VERSION);
  file.attribute("contents", "correlators of each configuration, as results.json of the configuration has them");
  file.attribute("order", "configurations in the order of the job: that of the chain");
  file.texts("configurations", names);
  file.texts("files", files);
  for (const CorrelatorRows& one : correlators) {
    const auto rows = std::int64_t(one.rows.size()), extent = std::int64_t(one.rows.front().size());
    file.create(one.path, {rows, extent});
    file.attribute("indices", "configuration, t (absolute: the source is at t = source_time)");
    file.attribute("source_time", std::int64_t(one.source_time));
    file.attribute("units", "lattice units, Dirac matrix in mass normalisation");
    for (const auto& row : one.rows) file.rows(1, row.data());
  }
  file.commit();
}

}  // namespace quadrille
