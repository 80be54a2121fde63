#include "input/sources/wall.h"

#include "input/sources/time_slice.h"

namespace quadrille {

namespace {

void make_wall(const Parameters& source, Field& b, int spin, int color) {
  fill_time_slice(b, source, spin, color, [](const Dims&) { return Complex(1); });
}

MakeColumn wall_maker(const Parameters& source, const SourceSetting&, const SliceSmearing*) {
  return [&source](Field& b, int spin, int color) { make_wall(source, b, spin, color); };
}

}  // namespace

SourceEntry wall_source() {
  SourceEntry entry;
  entry.name = "wall";
  entry.table.name = "source wall";
  entry.table.help =
      "1 in one spin and color at all sites of a time slice, times the phase of a momentum; without gauge fixing the "
      "sites' quarks add up with random phases";
  entry.table.parameters = {time_parameter(), momentum_parameter()};
  entry.may_differ = {"momentum", "smearing"};
  entry.check = check_time_slice;
  entry.maker = wall_maker;
  entry.position = time_slice_position;
  return entry;
}

}  // namespace quadrille
