#include "core/blas/random_fill.h"

#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "core/random/random.h"

namespace quadrille {

void fill_gaussian(Field& field, std::uint64_t seed, double sigma) {
  require_site_numbers(field.desc());
  HostImage image = HostImage::fresh(field);
  Field& x = image.field();
  const Lattice& lattice = x.lattice();
  const int count = x.desc().components();
  with_number_type(x.desc().precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    for (Parity p : {Parity::Even, Parity::Odd}) {
      if (!x.holds(p)) continue;
      const Access to(x, p);
#pragma omp parallel for schedule(static)
      for (std::int64_t site = 0; site < lattice.half_volume(); ++site) {
        SiteRandom random(seed, RandomPurpose::GaussianSpinor, lattice.global_site(lattice.coordinates(p, site)));
        typename Access::Real out[most_site_numbers];
        for (int c = 0; c < count; ++c) out[c] = typename Access::Real(sigma * random.normal());
        to.store(site, out);
      }
    }
  });
  image.write_back();
}

}  // namespace quadrille
