#include "input/sources/time_slice.h"

#include "core/error.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "core/field/spin_basis.h"
#include "input/contractions/momenta.h"

#include <fmt/format.h>

#include <cstdlib>

namespace quadrille {

Parameter time_parameter(const std::string& help) {
  return {
      .name = "time", .type = ParameterType::integer, .help = help, .required = true, .minimum = 0, .maximum = 1 << 20};
}

Parameter momentum_parameter(const std::string& help) {
  Parameter momentum;
  momentum.name = "momentum";
  momentum.type = ParameterType::list;
  momentum.help = help;
  momentum.default_text = "[0, 0, 0]";
  momentum.element = {{.name = "n", .type = ParameterType::integer, .minimum = -1000, .maximum = 1000}};
  momentum.fewest = momentum.most = 3;
  momentum.repeats = true;
  return momentum;
}

namespace {

void check_momentum(const Parameters& source, const Dims& dims) {
  const std::vector<std::int64_t> n = source.integer_list("momentum");
  for (std::size_t mu = 0; mu < n.size(); ++mu) {
    if (2 * std::abs(n[mu]) <= dims[mu]) continue;
    throw Error(
        ErrorCode::invalid_input,
        fmt::format("'source.momentum[{}]' must be >= {} and <= {}, half of the extent {} of this lattice, got {}", mu,
                    -(dims[mu] / 2), dims[mu] / 2, dims[mu], n[mu]),
        source.where("momentum"));
  }
}

}  // namespace

void check_time_slice(const Parameters& source, const Dims& dims, const std::filesystem::path&) {
  check_momentum(source, dims);
  const std::int64_t time = source.integer("time");
  if (time < dims[3]) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'source.time' must be >= 0 and < {} on this lattice of {} x {} x {} x {}, got {}", dims[3],
                          dims[0], dims[1], dims[2], dims[3], time),
              source.where("time"));
}

Dims time_slice_position(const Parameters& source) { return {0, 0, 0, int(source.integer("time"))}; }

void fill_time_slice(Field& b, int time, const std::function<void(const Dims& x, Complex* spinor)>& f) {
  HostImage image = HostImage::fresh(b);
  const Lattice& lattice = b.lattice();
  with_number_type(b.desc().precision, [&](auto number) {
    using Access = SiteAccess<decltype(number)>;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      const Access to(image.field(), p);
#pragma omp parallel for schedule(static)
      for (std::int64_t site = 0; site < lattice.half_volume(); ++site) {
        Dims x = lattice.coordinates(p, site);
        for (std::size_t mu = 0; mu < 4; ++mu) x[mu] += lattice.origin()[mu];
        Complex numbers[spinor_components] = {}, rotated[spinor_components];
        if (x[3] == time) f(x, numbers);
        spin_basis::from_degrand_rossi(rotated, numbers, 3);
        typename Access::Real out[spinor_numbers];
        for (int c = 0; c < spinor_components; ++c) {
          out[2 * c] = typename Access::Real(rotated[c].real());
          out[2 * c + 1] = typename Access::Real(rotated[c].imag());
        }
        to.store(site, out);
      }
    }
  });
  image.write_back();
}

void fill_time_slice(Field& b, const Parameters& source, int spin, int color,
                     const std::function<Complex(const Dims& x)>& f) {
  const std::vector<std::int64_t> n = source.integer_list("momentum");
  const Dims& extents = b.lattice().global_dims();
  fill_time_slice(b, int(source.integer("time")), [&](const Dims& x, Complex* spinor) {
    Complex value = f(x);
    for (std::size_t mu = 0; mu < 3; ++mu) value *= momentum_phase(-n[mu], x[mu], extents[mu]);
    spinor[3 * spin + color] = value;
  });
}

}  // namespace quadrille
