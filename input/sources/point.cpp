#include "input/sources/point.h"

#include "core/blas/blas.h"
#include "core/field/convert.h"

#include <fmt/format.h>

#include <array>

namespace quadrille {

void check_site(const Parameters& source, const Dims& dims) {
  const Dims site = source.integer4("site");
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (site[mu] < dims[mu]) continue;
    throw Error(ErrorCode::invalid_input,
                fmt::format("'source.site[{}]' ({}) must be >= 0 and < {} on this lattice of {} x {} x {} x {}, got {}",
                            mu, "xyzt"[mu], dims[mu], dims[0], dims[1], dims[2], dims[3], site[mu]),
                source.where("site"));
  }
}

void make_point(const Parameters& source, Field& b, int spin, int color) {
  const Lattice& lattice = b.lattice();
  check_site(source, lattice.global_dims());
  std::array<Complex, spinor_components> numbers{};
  numbers[std::size_t(3 * spin + color)] = 1;
  blas::zero(b);
  Dims site = source.integer4("site");
  for (std::size_t mu = 0; mu < 4; ++mu) {
    site[mu] -= lattice.origin()[mu];
    if (site[mu] < 0 || site[mu] >= lattice.dims()[mu]) return;  // another rank's
  }
  put_spinor(b, site, numbers);
}

namespace {

void check_point(const Parameters& source, const Dims& dims, const std::filesystem::path&) { check_site(source, dims); }

MakeColumn point_maker(const Parameters& source, const SourceSetting&, const SliceSmearing*) {
  return [&source](Field& b, int spin, int color) { make_point(source, b, spin, color); };
}

Dims point_position(const Parameters& source) { return source.integer4("site"); }

}  // namespace

SourceEntry point_source() {
  SourceEntry entry;
  entry.name = "point";
  entry.table.name = "source point";
  entry.table.help = "1 in one spin and color at one site, 0 elsewhere";
  entry.table.parameters = {{.name = "site",
                             .type = ParameterType::integer4,
                             .help = "the site x, y, z, t of the source, counted from 0",
                             .required = true,
                             .minimum = 0}};
  entry.check = check_point;
  entry.maker = point_maker;
  entry.position = point_position;
  return entry;
}

}  // namespace quadrille
