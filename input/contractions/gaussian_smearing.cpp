#include "input/contractions/gaussian_smearing.h"

#include "core/blas/blas.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"

#include <algorithm>
#include <array>
#include <utility>

namespace quadrille {

namespace {

std::shared_ptr<const GaugeStore> without_time_links(const GaugeStore& links) {
  HostLinks copy = links.host_links();
  for (std::int64_t site = 0; site < links.lattice().volume(); ++site) std::fill_n(copy.link(site, 3), 9, Complex());
  return std::make_shared<const GaugeStore>(links.lattice(), copy, links.backend());
}

Dims slice_dims(const Lattice& lattice) {
  Dims dims = lattice.global_dims();
  dims[3] = 2 * lattice.communicator().grid()[3];
  return dims;
}

/// Of this rank; -1 where it has no such slice.
int local_time(const Lattice& lattice, int time) {
  const int local = time - lattice.origin()[3];
  return local >= 0 && local < lattice.dims()[3] ? local : -1;
}

/// The spatial links of one slice on the first slice of `slices`; all others are zero.
std::shared_ptr<const GaugeStore> links_of_slice(const GaugeStore& links, const Lattice& slices, int time) {
  HostLinks out(slices.dims());
  if (time >= 0) {
    const HostLinks all = links.host_links();
    const std::int64_t sites = slices.volume() / 2;
    for (std::int64_t site = 0; site < sites; ++site)
      std::copy_n(all.link(time * sites + site, 0), 27, out.link(site, 0));
  }
  return std::make_shared<const GaugeStore>(slices, out, links.backend());
}

/// Copies the slice at `from_time` of a field in this process' memory to that at `to_time` of another.
void copy_slice(Field& to, int to_time, Field& from, int from_time) {
  const SiteAccess<double> sources[] = {{from, Parity::Even}, {from, Parity::Odd}};
  const SiteAccess<double> targets[] = {{to, Parity::Even}, {to, Parity::Odd}};
  const Dims extents = to.lattice().dims();
  const std::int64_t sites = std::int64_t(extents[0]) * extents[1] * extents[2];
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < sites; ++site) {
    Dims x = to.lattice().coordinates(site);
    double numbers[spinor_numbers];
    x[3] = from_time;
    sources[Lattice::parity(x)].load(from.lattice().even_odd_index(x), numbers);
    x[3] = to_time;
    targets[Lattice::parity(x)].store(to.lattice().even_odd_index(x), numbers);
  }
}

}  // namespace

GaussianSmearing::GaussianSmearing(const GaugeStore& links, double sigma, int steps)
    : GaussianSmearing(without_time_links(links), sigma, steps) {}

GaussianSmearing::GaussianSmearing(std::shared_ptr<const GaugeStore> spatial_links, double sigma, int steps)
    : factor_(sigma * sigma / (4 * steps)), steps_(steps) {
  WilsonParameters parameters;
  parameters.mass = -1;
  laplacian_ = std::make_unique<const WilsonOperator>(std::move(spatial_links), parameters, OperatorForm{});
}

void GaussianSmearing::apply_each(std::span<Field> fields) const {
  std::vector<Field> hopped, other;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    hopped.emplace_back(field_desc());
    other.emplace_back(field_desc());
  }
  const std::array<double, 2> factors = {-factor_, -factor_};
  for (int step = 0; step < steps_; ++step) {
    OwnedOperands forward(fields.size()), backward(fields.size());
    for (std::size_t k = 0; k < fields.size(); ++k) {
      forward[k] = {&hopped[k], &fields[k]};
      backward[k] = {&other[k], &fields[k]};
    }
    laplacian_->apply_each(forward, Dagger::No);
    laplacian_->apply_each(backward, Dagger::Yes);
    for (std::size_t k = 0; k < fields.size(); ++k) {
      const Field* const terms[] = {&hopped[k], &other[k]};
      Field* const sums[] = {&fields[k]};
      blas::combine(factors, terms, sums);
    }
  }
}

SliceSmearing::SliceSmearing(const GaugeStore& links, double sigma, int steps, int time)
    : slices_(slice_dims(links.lattice()), links.lattice().shared_communicator()),
      time_(local_time(links.lattice(), time)),
      smearing_(links_of_slice(links, slices_, time_), sigma, steps) {}

void SliceSmearing::apply(Field& x) const {
  Field slice(smearing_.field_desc());
  blas::zero(slice);
  if (time_ >= 0) {
    HostImage all(x), one(slice);
    copy_slice(one.field(), 0, all.field(), time_);
    one.write_back();
  }
  smearing_.apply(slice);
  if (time_ < 0) return;
  HostImage all(x), one(slice);
  copy_slice(all.field(), time_, one.field(), 0);
  all.write_back();
}

Parameter smearing_parameter(const std::string& name, const std::string& help) {
  ParameterTable gaussian;
  gaussian.name = name + " gaussian";
  gaussian.help = "(1 + sigma^2 / (4 N) D^2)^N with the covariant Laplacian D^2 of space and N steps";
  gaussian.parameters = {{.name = "sigma",
                          .type = ParameterType::real,
                          .help = "width: on unit links exp(-r^2 / sigma^2) for many steps",
                          .unit = "lattice spacings",
                          .required = true,
                          .minimum = 0,
                          .maximum = 1000,
                          .minimum_open = true},
                         {.name = "steps",
                          .type = ParameterType::integer,
                          .help = "N; with fewer than 1.5 sigma^2 the highest modes grow",
                          .required = true,
                          .minimum = 1,
                          .maximum = 100000}};
  Parameter smearing;
  smearing.name = name;
  smearing.type = ParameterType::variant;
  smearing.help = help;
  smearing.entries = {{"gaussian", std::move(gaussian)}};
  return smearing;
}

std::unique_ptr<const GaussianSmearing> make_smearing(const Parameters& parameters, const std::string& name,
                                                      const GaugeStore& links) {
  if (!parameters.has(name)) return nullptr;
  const Parameters& smearing = parameters.group(name);
  return std::make_unique<const GaussianSmearing>(links, smearing.real("sigma"), int(smearing.integer("steps")));
}

std::unique_ptr<const SliceSmearing> make_slice_smearing(const Parameters& parameters, const std::string& name,
                                                         const GaugeStore& links, int time) {
  if (!parameters.has(name)) return nullptr;
  const Parameters& smearing = parameters.group(name);
  return std::make_unique<const SliceSmearing>(links, smearing.real("sigma"), int(smearing.integer("steps")), time);
}

}  // namespace quadrille
