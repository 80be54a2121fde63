#include "input/sources/noise.h"

#include "core/layout/lattice.h"
#include "core/random/random.h"
#include "input/sources/time_slice.h"

#include <numbers>

namespace quadrille {

namespace {

/// A random number with mean 0 and <|eta|^2> = 1.
Complex draw(const std::string& kind, SiteRandom& random) {
  if (kind == "z2") return (random.integer() & 1) == 0 ? 1 : -1;
  if (kind == "z4") {
    constexpr Complex roots[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return roots[random.integer() & 3];
  }
  if (kind == "u1") return std::polar(1.0, 2 * std::numbers::pi * random.uniform());
  const double re = random.normal(), im = random.normal();
  return Complex(re, im) / std::numbers::sqrt2;
}

void make_noise(const Parameters& source, Field& b, int spin, int color) {
  const std::string& kind = source.text("kind");
  const auto seed = std::uint64_t(source.integer("seed"));
  const Dims& extents = b.lattice().global_dims();
  fill_time_slice(b, source, spin, color, [&](const Dims& x) {
    const std::int64_t site = ((std::int64_t(x[3]) * extents[2] + x[2]) * extents[1] + x[1]) * extents[0] + x[0];
    SiteRandom random(seed, RandomPurpose::NoiseSource, site);
    return draw(kind, random);
  });
}

MakeColumn noise_maker(const Parameters& source, const SourceSetting&, const SliceSmearing*) {
  return [&source](Field& b, int spin, int color) { make_noise(source, b, spin, color); };
}

}  // namespace

SourceEntry noise_source() {
  SourceEntry entry;
  entry.name = "noise";
  entry.table.name = "source noise";
  entry.table.help =
      "random numbers on a time slice, one for each site, the same in each spin and color that is solved for (spin and "
      "color dilution), with mean 0 and mean square 1: correlators averaged over seeds are sums over all points of the "
      "slice as source";
  entry.table.parameters = {time_parameter(),
                            {.name = "kind",
                             .type = ParameterType::choice,
                             .help = "z2: 1, -1; z4: 1, i, -1, -i; u1: a random phase; gaussian: complex Gaussian",
                             .default_text = "z4",
                             .choices = {"z2", "z4", "u1", "gaussian"}},
                            {.name = "seed",
                             .type = ParameterType::integer,
                             .help = "seed of the random numbers: another one for each configuration and each source",
                             .default_text = "1",
                             .minimum = 0},
                            momentum_parameter()};
  entry.may_differ = {"momentum", "smearing"};
  entry.baryons = false;
  entry.check = check_time_slice;
  entry.maker = noise_maker;
  entry.position = time_slice_position;
  return entry;
}

}  // namespace quadrille
