#include "input/contractions/space_sums.h"

#include "core/field/convert.h"
#include "core/layout/vector_layout.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"
#include "input/contractions/gaussian_smearing.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace quadrille {

namespace {

/// The tables of PlanePhases, for the blocks of one rank.
class PhaseTables {
 public:
  PhaseTables(const std::vector<Momentum>& momenta, const Lattice& lattice, const Dims& extents, const Dims& x0) {
    std::map<int, int> x_index;
    std::map<std::pair<int, int>, int> xy_index;
    const auto add = [&](std::vector<double>& table, int n, int mu) {
      const auto at = std::size_t(mu);
      for (int k = 0; k < extents[at]; ++k) {
        const auto phase = momentum_phase(n, lattice.origin()[at] + k - x0[at], lattice.global_dims()[at]);
        table.insert(table.end(), {phase.real(), phase.imag()});
      }
    };
    for (const Momentum& n : momenta) {
      const auto [x, new_x] = x_index.try_emplace(n[0], int(x_index.size()));
      if (new_x) add(x_, n[0], 0);
      const auto [xy, new_xy] = xy_index.try_emplace({n[0], n[1]}, int(xy_index.size()));
      if (new_xy) {
        add(y_, n[1], 1);
        x_of_.push_back(x->second);
      }
      add(z_, n[2], 2);
      xy_of_.push_back(xy->second);
    }
    view_ = {int(x_index.size()), x_.data(), int(xy_index.size()), y_.data(), x_of_.data(),
             int(momenta.size()), z_.data(), xy_of_.data()};
  }
  PhaseTables(const PhaseTables&) = delete;

  const PlanePhases& view() const { return view_; }

 private:
  std::vector<double> x_, y_, z_;
  std::vector<int> x_of_, xy_of_;
  PlanePhases view_{};
};

/// Columns: their number is a multiple.
constexpr std::size_t smeared_at_once = 4;

using Numbers = std::vector<double, AlignedAllocator<double>>;

/// Planes of partial sums that are kept at once: how many are does not change any sum.
constexpr std::size_t most_partial_numbers = std::size_t(8) << 20;

/// What one sum is made of.
struct SumOverSpace {
  const Lattice& lattice;
  const VectorLayout& layout;
  const std::vector<Momentum>& momenta;
  const PlanePhases& phases;
  int outputs;
  std::size_t scratch;

  std::size_t set() const { return 2 * std::size_t(outputs) * std::size_t(layout.lanes()); }
  std::size_t plane_numbers() const { return momenta.size() * set(); }

  /// The planes of the block times [first, first + times), by time and z.
  void planes(int first, int times, const PlaneKernel& kernel, double* sums) const {
    const Dims extents = layout.block_dims();
    const std::size_t loop = set() * std::size_t(1 + phases.along_x + phases.along_xy);
    const std::size_t aligned = (loop + 7) / 8 * 8;
    team_for_with(
        std::int64_t(times) * extents[2], [&] { return Numbers(aligned + scratch); },
        [&](Numbers& mine, std::int64_t k) {
          const Plane plane{extents.data(),
                            int(k % extents[2]),
                            first + int(k / extents[2]),
                            &phases,
                            outputs,
                            sums + std::size_t(k) * plane_numbers(),
                            mine.data()};
          kernel(plane, mine.data() + aligned);
        });
  }

  /// Adds the planes of one block time, in the order of z, and then its lanes to the times that these belong to.
  void add(double* planes, int time, SpaceSums& out) const {
    const Dims extents = layout.block_dims();
    for (int z = 1; z < extents[2]; ++z)
      for (std::size_t n = 0; n < plane_numbers(); ++n) planes[n] += planes[std::size_t(z) * plane_numbers() + n];
    for (int lane = 0; lane < layout.lanes(); ++lane) {
      const int t = lattice.origin()[3] + time + layout.lane_coordinate(lane, 3) * extents[3];
      for (std::size_t p = 0; p < momenta.size(); ++p) {
        std::complex<double> phase = 1;
        for (int mu = 0; mu < 3; ++mu)
          phase *= momentum_phase(momenta[p][std::size_t(mu)],
                                  std::int64_t(layout.lane_coordinate(lane, mu)) * extents[std::size_t(mu)],
                                  lattice.global_dims()[std::size_t(mu)]);
        const double* sums = planes + p * set() + lane;
        for (int n = 0; n < outputs; ++n, sums += 2 * layout.lanes())
          out.of(std::size_t(n), p)[t] += phase * std::complex<double>(sums[0], sums[layout.lanes()]);
      }
    }
  }
};

}  // namespace

ReadablePropagator::ReadablePropagator(const Propagator& propagator, const GaussianSmearing* sink)
    : given_(&propagator) {
  const FieldDesc& desc = propagator.desc();
  if (desc.backend->host_memory() && !desc.layout.grouped() && sink == nullptr) return;
  copy_ = make_propagator(FieldDesc::spinor(*desc.lattice, Subset::Full, Precision::Double), propagator.sink);
  const auto size = std::size_t(Propagator::size);
  if (sink == nullptr) {
    for (std::size_t k = 0; k < size; ++k) convert(copy_.columns[k], propagator.columns[k]);
    return;
  }
  // In the basis of files, so that a propagator that comes from one gives the same bits.
  copy_.sink = Propagator::Sink::degrand_rossi;
  std::vector<Field> smeared;
  while (smeared.size() < smeared_at_once) smeared.emplace_back(sink->field_desc());
  for (std::size_t first = 0; first < size; first += smeared_at_once) {
    for (std::size_t k = 0; k < smeared_at_once; ++k) {
      convert(smeared[k], propagator.columns[first + k]);
      if (propagator.sink == Propagator::Sink::ukqcd) to_degrand_rossi(smeared[k]);
    }
    sink->apply_each(smeared);
    for (std::size_t k = 0; k < smeared_at_once; ++k) convert(copy_.columns[first + k], smeared[k]);
  }
}

PropagatorBlocks ReadablePropagator::blocks() const {
  PropagatorBlocks out{};
  out.rotate = (**this).sink == Propagator::Sink::ukqcd;
  for (const Parity p : {Parity::Even, Parity::Odd})
    for (std::size_t k = 0; k < std::size_t(Propagator::size); ++k)
      out.columns[int(p)][k] = static_cast<const double*>((**this).columns[k].numbers(p));
  return out;
}

SpaceSums sum_over_space(const FieldDesc& desc, const std::vector<Momentum>& momenta, const Dims& x0, int outputs,
                         std::size_t scratch, const PlaneKernel& kernel) {
  const Lattice& lattice = *desc.lattice;
  const VectorLayout& layout = lattice.vector_layout(desc.layout.lanes);
  const Dims extents = layout.block_dims();
  const PhaseTables tables(momenta, lattice, extents, x0);
  const SumOverSpace sum{lattice, layout, momenta, tables.view(), outputs, scratch};
  const std::size_t of_time = std::size_t(extents[2]) * sum.plane_numbers();
  const int together = int(std::clamp<std::size_t>(most_partial_numbers / of_time, 1, std::size_t(extents[3])));
  Numbers planes(std::size_t(together) * of_time);
  SpaceSums out(outputs, momenta.size(), lattice.global_dims()[3]);
  for (int first = 0; first < extents[3]; first += together) {
    const int times = std::min(together, extents[3] - first);
    sum.planes(first, times, kernel, planes.data());
    for (int k = 0; k < times; ++k) sum.add(planes.data() + std::size_t(k) * of_time, first + k, out);
  }
  lattice.communicator().sum(reinterpret_cast<double*>(out.values().data()), 2 * out.values().size());
  return out;
}

}  // namespace quadrille
