#include "core/gauge/gauge_store.h"

#include "core/error.h"
#include "core/field/convert.h"
#include "core/gauge/face_exchange.h"
#include "core/gauge/work/link_work.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace quadrille {

namespace {

constexpr std::uint8_t forward_spatial = hops::forward & hops::spatial, forward_time = hops::forward & hops::time;

Field double_18(const Lattice& lattice, Backend& backend, std::uint8_t directions) {
  return Field(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, backend, directions));
}

LinkView view_of(const LinkFields& links) { return quadrille::view_of(links.spatial, links.time); }

/// Those of `lattice`, of each rank's own links, with the links where they stand on the whole lattice.
template <std::size_t N>
std::array<MaxLoc, N> of_all_ranks(const Lattice& lattice, std::array<MaxLoc, N> mine) {
  for (MaxLoc& worst : mine) {
    const Dims place = lattice.coordinates(worst.item / 4);
    worst.item = lattice.global_site(place) * 4 + worst.item % 4;
  }
  const Communicator& communicator = lattice.communicator();
  std::vector<std::array<MaxLoc, N>> all(std::size_t(communicator.size()));
  communicator.gather(&mine, sizeof mine, all.data());
  std::array<MaxLoc, N> worst = all[0];
  for (const std::array<MaxLoc, N>& theirs : all) {
    for (std::size_t n = 0; n < N; ++n) worst[n].reduce(theirs[n].value, theirs[n].item);
  }
  return worst;
}

Unitarity unitarity_of(const std::array<MaxLoc, 2>& worst) {
  const auto site = [&](int n) { return worst[std::size_t(n)].item / 4; };
  const auto direction = [&](int n) { return int(worst[std::size_t(n)].item % 4); };
  return {worst[0].value, site(0), direction(0), worst[1].value, site(1), direction(1)};
}

}  // namespace

GaugeStore::GaugeStore(const Lattice& lattice, Backend& backend)
    : lattice_(&lattice),
      backend_(&backend),
      links_(std::make_shared<LinkFields>(LinkFields{double_18(lattice, backend, forward_spatial),
                                                     double_18(lattice, backend, forward_time), nullptr})) {}

GaugeStore::GaugeStore(const Lattice& lattice, const HostLinks& links, Backend& backend)
    : GaugeStore(lattice, backend) {
  set(links);
}

GaugeStore::GaugeStore(const Lattice& lattice, const GaugeStart& start, Backend& backend)
    : GaugeStore(lattice, backend) {
  set(start);
}

GaugeStore::GaugeStore(const Field& links) : GaugeStore(links.lattice(), *links.desc().backend) { set(links); }

GaugeStore::~GaugeStore() = default;

void GaugeStore::set(const HostLinks& links) {
  import_links(links_->spatial, links);
  import_links(links_->time, links);
  changed();
}

void GaugeStore::set(const GaugeStart& start) {
  link_work(*backend_).start(view_of(*links_), start, *lattice_);
  changed();
}

void GaugeStore::set(const Field& links) {
  if (links.desc().lattice != lattice_ || links.desc().backend != backend_) {
    throw Error(ErrorCode::internal, "a gauge field cannot be set from links of another lattice or backend");
  }
  copy(view_of(*links_), quadrille::view_of(links));
  changed();
}

void GaugeStore::unpack(const void* bytes, int bits, std::int64_t first, std::int64_t count) {
  link_work(*backend_).unpack(view_of(*links_), bytes, bits, first, count);
}

Unitarity GaugeStore::read(const ForeignLinks& from) {
  const Unitarity found = unitarity_of(of_all_ranks(*lattice_, link_work(*backend_).read(view_of(*links_), from)));
  refresh(lattice_->dims() == lattice_->global_dims());  // neighbours of other processes are not there to be read
  return found;
}

void GaugeStore::changed() { refresh(false); }

void GaugeStore::refresh(bool doubled) {
  const std::lock_guard lock(mutex_);
  ++version_;
  const LinkView links = view_of(*links_);
  if (links.holds(1) && !doubled) copy(links, links);  // links of backward hops from those of forward ones
  if (const std::shared_ptr<TemporalGauge> gauge = gauge_.lock()) gauge->make(links);
  std::erase_if(made_, [](const Made& made) { return made.links.expired(); });
  for (const Made& made : made_) {
    if (const std::shared_ptr<LinkFields> form = made.links.lock()) fill(*form);
  }
}

double GaugeStore::project() {
  const std::array<MaxLoc, 2> worst = of_all_ranks(*lattice_, link_work(*backend_).project(view_of(*links_)));
  if (worst[1].value > 0) {
    throw Error(ErrorCode::numerical,
                fmt::format("the link at {} is singular or not finite: it has no nearest SU(3) matrix, so this field "
                            "cannot be reunitarized",
                            link_name(lattice_->global_dims(), worst[1].item / 4, int(worst[1].item % 4))));
  }
  changed();
  return worst[0].value;
}

void GaugeStore::pack(void* bytes, int bits, std::int64_t first, std::int64_t count) const {
  link_work(*backend_).pack(bytes, bits, view_of(*links_), first, count);
}

void GaugeStore::write(const ForeignLinks& to) const { link_work(*backend_).write(to, view_of(*links_)); }

HostLinks GaugeStore::host_links() const {
  HostLinks out(lattice_->dims());
  export_links(out, links_->spatial);
  export_links(out, links_->time);
  return out;
}

void GaugeStore::copy_to(Field& links) const {
  if (links.desc().lattice != lattice_ || links.desc().backend != backend_) {
    throw Error(ErrorCode::internal, "a gauge field cannot be copied to links of another lattice or backend");
  }
  copy(quadrille::view_of(links), view_of(*links_));
}

Unitarity GaugeStore::unitarity() const {
  return unitarity_of(of_all_ranks(*lattice_, link_work(*backend_).defects(view_of(*links_))));
}

GaugeObservables GaugeStore::observables() const {
  FaceExchange faces(*lattice_, *backend_);
  const LinkView links = view_of(*links_);
  const std::int64_t all_sites = quadrille::volume(lattice_->global_dims());
  std::array<ExactSum, 7> sums = link_work(*backend_).plane_sums(links, faces.beyond(links, 4), all_sites);
  lattice_->communicator().sum(&sums[0].coarse, 2 * sums.size());
  const double sites = double(all_sites);
  GaugeObservables result;
  for (std::size_t plane = 0; plane < 6; ++plane) {
    result.planes[plane] = sums[plane].value() / (3.0 * sites);
    result.plaquette += result.planes[plane];
  }
  result.plaquette /= 6;
  result.link_trace = sums[6].value() / (12.0 * sites);
  result.unitarity = unitarity();
  return result;
}

std::shared_ptr<const LinkFields> GaugeStore::form(const OperatorForm& form) const {
  const std::lock_guard lock(mutex_);
  const Layout layout = backend_->layout(*lattice_, form.precision);  // another one for another instruction set
  if (form == OperatorForm{} && links_->spatial.desc().layout == layout) {
    become_double_18();
    return links_;
  }
  for (const Made& made : made_) {
    if (!(made.form == form)) continue;
    const std::shared_ptr<LinkFields> known = made.links.lock();
    if (known && known->spatial.desc().layout == layout) return known;
  }
  std::erase_if(made_, [](const Made& made) { return made.links.expired(); });
  const auto field = [&](std::uint8_t directions) {
    return Field(FieldDesc::links(*lattice_, form.precision, form.reconstruct, *backend_, directions));
  };
  const auto links = std::make_shared<LinkFields>(
      LinkFields{field(hops::spatial), field(hops::time), form.temporal_gauge ? gauge() : nullptr});
  fill(*links);
  made_.push_back({form, links});
  return links;
}

std::shared_ptr<const TemporalGauge> GaugeStore::temporal_gauge() const {
  const std::lock_guard lock(mutex_);
  return gauge();
}

std::shared_ptr<const TemporalGauge> GaugeStore::gauge() const {
  if (std::shared_ptr<const TemporalGauge> known = gauge_.lock()) return known;
  const auto made = std::make_shared<TemporalGauge>(*lattice_, *backend_);
  made->make(view_of(*links_));
  gauge_ = made;
  return made;
}

void GaugeStore::fill(LinkFields& links) const {
  std::optional<LinkView> g;
  if (links.gauge) g = quadrille::view_of(links.gauge->matrices());
  copy(view_of(links), view_of(*links_), g ? &*g : nullptr);
}

void GaugeStore::copy(const LinkView& to, const LinkView& from, const LinkView* g) const {
  FaceExchange(*lattice_, *backend_).copy(to, from, g);
}

// One field after the other, so that no more than one of them is there in both forms. Memory may run out between them:
// the next call goes on with the other.
void GaugeStore::become_double_18() const {
  const auto doubled = [&](Field& links, std::uint8_t directions, int backward_hop) {
    if (quadrille::view_of(links).holds(backward_hop)) return;
    Field twice = double_18(*lattice_, *backend_, directions);
    copy(quadrille::view_of(twice), quadrille::view_of(links));
    backend_->synchronize();
    links = std::move(twice);
  };
  doubled(links_->spatial, hops::spatial, 1);
  doubled(links_->time, hops::time, 7);
}

}  // namespace quadrille
