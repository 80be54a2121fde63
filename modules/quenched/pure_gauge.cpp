#include "modules/quenched/pure_gauge.h"

#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/random/random.h"
#include "core/tuning/kernel_log.h"

#include <fmt/format.h>

#include <vector>

namespace quadrille::quenched {

namespace {

/// The subgroups of a direction have streams of their own: 4 mu, 4 mu + 1 and 4 mu + 2.
std::uint32_t heatbath_stream(int direction) {
  return random_stream(RandomPurpose::Heatbath, std::uint32_t(4 * direction));
}

/// A pass over one direction and parity reads every link once, eight for each that it writes.
double pass_bytes_per_site(const FieldDesc& desc) {
  return 9.0 * double(desc.reconstruct) * double(number_bytes(desc.precision));
}

FieldDesc links_desc(const Lattice& lattice, const LinkForm& form, Backend& backend) {
  if (form.precision == Precision::Half || form.reconstruct == Reconstruct::R8) {
    throw Error(
        ErrorCode::unsupported,
        fmt::format("gauge updates work in double or single precision with 18 or 12 numbers per link, not in {} "
                    "with {}",
                    to_string(form.precision), to_string(form.reconstruct)));
  }
  return FieldDesc::links(lattice, form.precision, form.reconstruct, backend);
}

std::unique_ptr<LinkUpdates> make_updates(Field& links) {
  return QUADRILLE_OF_BACKEND(links.desc().backend->name(), make_updates)(links);
}

}  // namespace

PureGauge::PureGauge(const GaugeStore& links, const WilsonGaugeAction& action, std::uint64_t seed, const LinkForm& form)
    : lattice_(&links.lattice()),
      action_(action),
      seed_(seed),
      links_(links_desc(links.lattice(), form, links.backend())) {
  links.copy_to(links_);
  updates_ = make_updates(links_);
}

void PureGauge::sweep(std::uint64_t number, int overrelaxations) {
  heatbath(number);
  for (int n = 0; n < overrelaxations; ++n) overrelax();
}

/// Calls `update(part)` with the SweepPart of each direction and parity in turn.
template <class Update>
void PureGauge::update_all(const char* name, std::uint64_t seed, const Update& update) {
  const FieldDesc& desc = links_.desc();
  KernelRecord& record =
      kernel_record(fmt::format("quenched_{}_{}_{}", name, to_string(desc.precision), to_string(desc.reconstruct)),
                    updates_->architecture(), pass_bytes_per_site(desc));
  for (int mu = 0; mu < 4; ++mu) {
    // Temporal planes carry beta xi0, spatial ones beta / xi0; all planes of a time link are temporal.
    SweepPart part{mu, 0, 1 / (action_.xi0 * action_.xi0), action_.beta * action_.xi0 / 3, seed, heatbath_stream(mu)};
    for (int parity : {0, 1}) {
      part.parity = parity;
      const KernelTimer timer(record, lattice_->half_volume(), desc.backend->host_memory());
      update(part);
    }
  }
}

void PureGauge::heatbath(std::uint64_t number) {
  update_all("heatbath", step_seed(seed_, RandomPurpose::Sweep, number),
             [&](const SweepPart& part) { updates_->heatbath(part); });
}

void PureGauge::overrelax() {
  update_all("overrelaxation", 0, [&](const SweepPart& part) { updates_->overrelax(part); });
}

std::array<double, 6> PureGauge::planes() const {
  std::array<double, 6> sums = updates_->plane_sums();
  lattice_->communicator().sum(sums.data(), sums.size());
  for (double& sum : sums) sum /= 3.0 * double(volume(lattice_->global_dims()));
  return sums;
}

Complex PureGauge::polyakov_loop() const {
  std::array<double, 2> sums = updates_->loop_sum();
  lattice_->communicator().sum(sums.data(), sums.size());
  const Dims& global = lattice_->global_dims();
  return Complex(sums[0], sums[1]) / (3.0 * double(volume(global) / global[3]));
}

double PureGauge::reunitarize() {
  double largest = updates_->reunitarize();
  lattice_->communicator().maximum(&largest, 1);
  return largest;
}

HeatbathCounts PureGauge::counts() const {
  const HeatbathCounts mine = updates_->counts();
  std::vector<HeatbathCounts> all(std::size_t(lattice_->communicator().size()));
  lattice_->communicator().gather(&mine, sizeof mine, all.data());
  HeatbathCounts sum;
  for (const HeatbathCounts& theirs : all) sum += theirs;
  return sum;
}

GaugeStore PureGauge::links() const {
  updates_->sync();
  return GaugeStore(links_);
}

double plaquette_of(const std::array<double, 6>& p) { return (p[0] + p[1] + p[2] + p[3] + p[4] + p[5]) / 6; }

double spatial_plaquette_of(const std::array<double, 6>& p) { return (p[0] + p[1] + p[3]) / 3; }

double temporal_plaquette_of(const std::array<double, 6>& p) { return (p[2] + p[4] + p[5]) / 3; }

}  // namespace quadrille::quenched
