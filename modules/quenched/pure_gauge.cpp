#include "modules/quenched/pure_gauge.h"

#include "core/chunked_sum.h"
#include "core/convert.h"
#include "core/error.h"
#include "core/gauge/su3.h"
#include "core/isa.h"
#include "core/kernel_log.h"
#include "core/layout/vector_layout.h"
#include "core/random.h"
#include "core/site_access.h"

#include <algorithm>
#include <string>

namespace quadrille::quenched {

namespace {

/// Blocks that a thread takes at a time; for sums, part of what they are.
constexpr std::int64_t chunk_blocks = 64;

const UpdateKernels& find_kernels(int lanes) {
  const UpdateKernels* kernels = nullptr;
  switch (isa_of_lanes(lanes, Precision::Double)) {
#ifdef QUADRILLE_HAVE_AVX512
    case Isa::Avx512: kernels = find_kernels_avx512(lanes); break;
#endif
#ifdef QUADRILLE_HAVE_AVX2
    case Isa::Avx2: kernels = find_kernels_avx2(lanes); break;
#endif
    default: kernels = find_kernels_generic(lanes);
  }
  if (kernels == nullptr) {
    throw Error(ErrorCode::unsupported, "no gauge-update kernel for " + std::to_string(lanes) + " lanes in this build");
  }
  return *kernels;
}

/// The subgroups of a direction have streams of their own: 4 mu, 4 mu + 1 and 4 mu + 2.
std::uint32_t heatbath_stream(int direction) {
  return random_stream(RandomPurpose::Heatbath, std::uint32_t(4 * direction));
}

/// A pass over one direction and parity reads almost every link and writes one in eight.
constexpr double pass_bytes_per_site = (2 * 72 + 18) * sizeof(double);

struct Chunks {
  std::int64_t blocks;
  std::int64_t count() const { return (blocks + chunk_blocks - 1) / chunk_blocks; }
  std::int64_t begin(std::int64_t chunk) const { return chunk * chunk_blocks; }
  std::int64_t end(std::int64_t chunk) const { return std::min(blocks, (chunk + 1) * chunk_blocks); }
};

}  // namespace

PureGauge::PureGauge(const Lattice& lattice, const HostLinks& links, const WilsonGaugeAction& action,
                     std::uint64_t seed, Backend& backend)
    : lattice_(&lattice),
      action_(action),
      seed_(seed),
      links_(FieldDesc::links(lattice, Precision::Double, Reconstruct::R18, backend)),
      kernels_(&find_kernels(links_.desc().layout.lanes)) {
  if (lattice.communicator().size() != 1) {
    throw Error(ErrorCode::unsupported, "this build exchanges no halos: generate gauge fields in one process");
  }
  import_links(links_, links);
  connect();
}

void PureGauge::connect() {
  const VectorLayout& layout = lattice_->vector_layout(links_.desc().layout.lanes);
  const auto lanes = std::size_t(layout.lanes());
  rotations_.resize((8 + 64) * lanes);
  for (int d = 0; d < 8; ++d) {
    std::int64_t* one = rotations_.data() + std::size_t(d) * lanes;
    for (std::size_t lane = 0; lane < lanes; ++lane) one[lane] = layout.rotation(d)[lane];
    sites_.rotations[d] = one;
    for (int e = 0; e < 8; ++e) {
      std::int64_t* both = rotations_.data() + std::size_t(8 + 8 * d + e) * lanes;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        both[lane] = layout.rotation(e)[std::size_t(layout.rotation(d)[lane])];
      }
      sites_.turns[d][e] = both;
    }
  }
  for (Parity p : {Parity::Even, Parity::Odd}) {
    const int k = int(p);
    auto& global = global_sites_[std::size_t(k)];
    global.resize(std::size_t(lattice_->half_volume()));
    for (std::int64_t index = 0; index < lattice_->half_volume(); ++index) {
      global[std::size_t(layout.slots(p)[std::size_t(index)])] = lattice_->global_site(lattice_->coordinates(p, index));
    }
    sites_.links[k] = static_cast<double*>(links_.numbers(p));
    sites_.neighbours[k] = layout.neighbours(p).data();
    sites_.wraps[k] = layout.wraps(p).data();
    sites_.global_sites[k] = global.data();
  }
}

void PureGauge::sweep(std::uint64_t number, int overrelaxations) {
  heatbath(number);
  for (int n = 0; n < overrelaxations; ++n) overrelax();
}

/// Calls `part(chunk, begin, end)` with the SweepPart of each direction and parity in turn.
template <class Part>
void PureGauge::update_all(const char* name, const Part& part) {
  const int lanes = links_.desc().layout.lanes;
  KernelRecord& record = kernel_record(name, to_string(isa_of_lanes(lanes, Precision::Double)), pass_bytes_per_site);
  const Chunks chunks{lattice_->half_volume() / lanes};
  for (int mu = 0; mu < 4; ++mu) {
    // Temporal planes carry beta xi0, spatial ones beta / xi0; all planes of a time link are temporal.
    SweepPart here{mu, 0, 1 / (action_.xi0 * action_.xi0), action_.beta * action_.xi0 / 3, 0, heatbath_stream(mu)};
    for (Parity p : {Parity::Even, Parity::Odd}) {
      here.parity = int(p);
      const KernelTimer timer(record, lattice_->half_volume(), true);
      part(here, chunks);
    }
  }
}

void PureGauge::heatbath(std::uint64_t number) {
  const std::uint64_t seed = step_seed(seed_, RandomPurpose::Sweep, number);
  update_all("quenched_heatbath", [&](SweepPart part, const Chunks& chunks) {
    part.seed = seed;
    std::int64_t attempts = 0, draws = 0, creutz_attempts = 0, creutz_draws = 0;
#pragma omp parallel for schedule(static) reduction(+ : attempts, draws, creutz_attempts, creutz_draws)
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      HeatbathCounts mine;
      kernels_->heatbath(sites_, part, chunks.begin(chunk), chunks.end(chunk), mine);
      attempts += mine.attempts;
      draws += mine.draws;
      creutz_attempts += mine.creutz_attempts;
      creutz_draws += mine.creutz_draws;
    }
    counts_.attempts += attempts;
    counts_.draws += draws;
    counts_.creutz_attempts += creutz_attempts;
    counts_.creutz_draws += creutz_draws;
  });
}

void PureGauge::overrelax() {
  update_all("quenched_overrelaxation", [&](const SweepPart& part, const Chunks& chunks) {
#pragma omp parallel for schedule(static)
    for (std::int64_t chunk = 0; chunk < chunks.count(); ++chunk) {
      kernels_->overrelax(sites_, part, chunks.begin(chunk), chunks.end(chunk));
    }
  });
}

std::array<double, 6> PureGauge::planes() const {
  const Chunks chunks{lattice_->half_volume() / links_.desc().layout.lanes};
  std::vector<std::array<double, 6>> partial(std::size_t(2 * chunks.count()));
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < 2 * chunks.count(); ++row) {
    const std::int64_t chunk = row % chunks.count();
    kernels_->planes(sites_, int(row / chunks.count()), chunks.begin(chunk), chunks.end(chunk),
                     partial[std::size_t(row)].data());
  }
  std::array<double, 6> sums = combine_partial_sums(std::span(partial));
  for (double& sum : sums) sum /= 3.0 * double(lattice_->volume());
  return sums;
}

Complex PureGauge::polyakov_loop() const {
  const Dims& dims = lattice_->dims();
  const std::int64_t space = lattice_->volume() / dims[3];
  const SiteAccess<double> even(links_, Parity::Even), odd(links_, Parity::Odd);
  const std::array<double, 2> sums = chunked_sum<2>(space, [&](std::int64_t place, std::array<double, 2>& sum) {
    Dims x = lattice_->coordinates(place);
    Matrix3 loop = Matrix3::identity();
    for (x[3] = 0; x[3] < dims[3]; ++x[3]) {
      double numbers[72];
      (Lattice::parity(x) == 0 ? even : odd).load(lattice_->even_odd_index(x), numbers);
      Matrix3 link;
      for (std::size_t i = 0; i < 9; ++i) link[i] = {numbers[54 + 2 * i], numbers[55 + 2 * i]};
      loop = loop * link;
    }
    const Complex trace = loop(0, 0) + loop(1, 1) + loop(2, 2);
    sum[0] += trace.real();
    sum[1] += trace.imag();
  });
  return Complex(sums[0], sums[1]) / (3.0 * double(space));
}

double PureGauge::reunitarize() {
  const Chunks chunks{lattice_->half_volume() / links_.desc().layout.lanes};
  double largest = 0;
#pragma omp parallel for schedule(static) reduction(max : largest)
  for (std::int64_t row = 0; row < 2 * chunks.count(); ++row) {
    const std::int64_t chunk = row % chunks.count();
    largest = std::max(
        largest, kernels_->reunitarize(sites_, int(row / chunks.count()), chunks.begin(chunk), chunks.end(chunk)));
  }
  return largest;
}

HostLinks PureGauge::links() const {
  HostLinks out(lattice_->dims());
  export_links(out, links_);
  return out;
}

double plaquette_of(const std::array<double, 6>& p) { return (p[0] + p[1] + p[2] + p[3] + p[4] + p[5]) / 6; }

double spatial_plaquette_of(const std::array<double, 6>& p) { return (p[0] + p[1] + p[3]) / 3; }

double temporal_plaquette_of(const std::array<double, 6>& p) { return (p[2] + p[4] + p[5]) / 3; }

}  // namespace quadrille::quenched
