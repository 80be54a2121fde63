#include "input/contractions/gaussian_smearing.h"

#include "core/blas/blas.h"
#include "core/error.h"

#include <fmt/format.h>

namespace quadrille {

namespace {

std::shared_ptr<const GaugeStore> without_time_links(const GaugeStore& links) {
  HostLinks copy = links.host_links();
  for (std::int64_t site = 0; site < links.lattice().volume(); ++site) std::fill_n(copy.link(site, 3), 9, Complex());
  return std::make_shared<const GaugeStore>(links.lattice(), copy, links.backend());
}

}  // namespace

GaussianSmearing::GaussianSmearing(const GaugeStore& links, double sigma, int steps)
    : factor_(sigma * sigma / (4 * steps)), steps_(steps) {
  WilsonParameters parameters;
  parameters.mass = -1;
  laplacian_ = std::make_unique<const WilsonOperator>(without_time_links(links), parameters, OperatorForm{});
}

void GaussianSmearing::apply(Field& x) const {
  Field hopped(x.desc()), other(x.desc());
  for (int step = 0; step < steps_; ++step) {
    laplacian_->apply(hopped, x, Dagger::No);
    laplacian_->apply(other, x, Dagger::Yes);
    blas::axpy(-factor_, hopped, x);
    blas::axpy(-factor_, other, x);
  }
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
                          .help = "N, at least 1.5 sigma^2",
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

// The largest -D^2 is 12: with sigma^2 / (4 N) 12 > 2 the highest modes would grow.
void check_smearing(const Parameters& parameters, const std::string& name) {
  if (!parameters.has(name)) return;
  const Parameters& smearing = parameters.group(name);
  const double sigma = smearing.real("sigma");
  if (double(smearing.integer("steps")) >= 1.5 * sigma * sigma) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'{}.steps' must be >= 1.5 sigma^2 = {:g}, or the highest modes grow; got {}", name,
                          1.5 * sigma * sigma, smearing.integer("steps")),
              smearing.where("steps"));
}

std::unique_ptr<const GaussianSmearing> make_smearing(const Parameters& parameters, const std::string& name,
                                                      const GaugeStore& links) {
  if (!parameters.has(name)) return nullptr;
  const Parameters& smearing = parameters.group(name);
  return std::make_unique<const GaussianSmearing>(links, smearing.real("sigma"), int(smearing.integer("steps")));
}

}  // namespace quadrille
