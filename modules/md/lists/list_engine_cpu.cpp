// Neighbour lists on the CPU: threads share groups of slots.
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "modules/md/lists/list_engine.h"
#include "modules/md/lists/list_kernels.h"
#include "modules/md/lists/neighbour_lists.h"
#include "modules/md/pairs/pair_sums.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

namespace quadrille::md {
namespace {

ListKernels find_kernels(const ListForm& form) { return QUADRILLE_OF_ISA(active_isa(), find_list_kernels)(form); }

template <class T>
ListKernel<T> kernel_of(const ListKernels& kernels) {
  if constexpr (sizeof(T) == sizeof(double)) {
    return kernels.wide;
  } else {
    return kernels.single;
  }
}

template <class T>
class CpuListEngine final : public ListEngine {
 public:
  CpuListEngine(const System& system, const ListOptions& options)
      : system_(system),
        options_(options),
        own_(system, options),
        shares_(options.forces.ranks, cpu_backend()),
        lists_(system.size(),
               options.forces.exclusions == ExclusionWay::afterwards ? std::vector<Exclusion>{} : system.exclusions) {}

  void build(std::span<const double> positions, const std::array<double, 3>& box) override;
  void place(std::span<const double> positions) override;
  void scale(const Exponents& exponents) override { tables_.scale(system_, options_, own_, exponents); }
  ListPass run(Method method, bool energy, bool quanta) override;
  void forces(double unit, std::span<double> out) override;
  std::vector<std::int64_t> quanta() override;
  std::array<double, total_sums> totals() override;
  std::int64_t entries() override { return entries_; }

 private:
  bool charged() const { return options_.forces.coulomb != Coulomb::none; }
  void set_up();
  ListPass watch(Method method, bool energy) const;
  bool infinite(Method method, bool energy, std::size_t slot) const;

  const System& system_;
  const ListOptions options_;
  const OwnPairs own_;
  RankShares shares_;
  CellOrder order_;
  NeighbourLists lists_;      ///< of this rank's groups
  std::int64_t entries_ = 0;  ///< of all ranks' lists
  int lanes_ = 0;             ///< of the lists
  std::array<double, 3> box_{};
  std::vector<std::int32_t> type_;  ///< [slot]
  std::vector<Place<T>> at_;
  std::vector<T> charge_;
  ListTables<T> tables_;
  SlotSums sums_{0};
  Method last_ = Method::narumi;  ///< of the last pass
};

template <class T>
void CpuListEngine<T>::build(std::span<const double> positions, const std::array<double, 3>& box) {
  box_ = box;
  std::vector<std::uint32_t> fractions(positions.size());
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto n = std::size_t(3 * begin); n < std::size_t(3 * end); ++n) {
      fractions[n] = fraction_of(positions[n], 0x1p32 / box[n % 3]);
    }
  });
  const double radius = list_radius(options_);
  order_.sort(fractions, box, radius);
  const auto slots = std::size_t(order_.slots());
  std::array<std::vector<std::int32_t>, 3> by_slot;
  for (std::vector<std::int32_t>& axis : by_slot) axis.resize(slots + slot_unit);
  type_.assign(slots, 0);
  team_ranges(order_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto slot = std::size_t(begin); slot < std::size_t(end); ++slot) {
      const auto particle = std::size_t(order_.particle_of[slot]);
      for (std::size_t k = 0; k < 3; ++k) by_slot[k][slot] = std::int32_t(fractions[3 * particle + k]);
      type_[slot] = system_.types[particle];
    }
  });
  NearProblem problem{by_slot[0].data(), by_slot[1].data(), by_slot[2].data(), {}, float(radius * radius)};
  for (std::size_t k = 0; k < 3; ++k) problem.unit[k] = float(box[k] * 0x1p-32);
  const ListKernels kernels = find_kernels({options_.forces.method, false, false, false});
  lanes_ = kernels.lanes;
  lists_.build(order_, problem, kernels.near, lanes_, shares_.mine(order_.slots() / lanes_));
  entries_ = shares_.sum(lists_.pairs());
  set_up();
  place(positions);
}

/// Sizes and what does not change until lists are built again.
template <class T>
void CpuListEngine<T>::set_up() {
  const auto slots = std::size_t(order_.slots());
  at_.assign(slots, Place<T>{0, 0, 0, T(far_away(options_))});
  charge_.assign(slots, T(0));
  if (charged()) {
    for (std::size_t i = 0; i < system_.charges.size(); ++i) {
      charge_[std::size_t(order_.slot_of[i])] = T(system_.charges[i]);
    }
  }
  tables_.set_box(box_);
  if (sums_.strayed.size() != slots) sums_ = SlotSums(order_.slots());
}

template <class T>
void CpuListEngine<T>::place(std::span<const double> positions) {
  std::array<double, 3> inverse_units{};
  for (std::size_t k = 0; k < 3; ++k) inverse_units[k] = 0x1p32 / box_[k];
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const double* const x = positions.data() + 3 * i;
      const auto inside = [&](std::size_t k) {
        if constexpr (sizeof(T) == sizeof(double)) {
          return x[k] - box_[k] * std::floor(x[k] / box_[k]);
        } else {
          return std::int32_t(fraction_of(x[k], inverse_units[k]));
        }
      };
      const auto slot = std::size_t(order_.slot_of[i]);
      T far = 0;
      if constexpr (sizeof(T) == sizeof(float)) far = far_of_type(type_[slot]);
      at_[slot] = {inside(0), inside(1), inside(2), far};
    }
  });
}

template <class T>
ListPass CpuListEngine<T>::run(Method method, bool energy, bool quanta) {
  const ListKernels kernels = find_kernels({method, charged(), system_.table.types > 1, energy});
  const ListKernel<T> kernel = kernel_of<T>(kernels);
  if (kernel == nullptr || kernels.lanes != lanes_) {
    throw Error(ErrorCode::internal, "no list kernel for method " + letter_of(method));
  }
  ListProblem<T> problem = tables_.pointed();
  problem.at = at_.data();
  problem.type = type_.data();
  problem.charge_at = charge_.data();
  problem.particle_of = order_.particle_of.data();
  problem.slot_of = order_.slot_of.data();
  problem.listed_begin = own_.begin.empty() ? nullptr : own_.begin.data();
  const GroupedLists lists{lists_.entries.data(), lists_.length.data()};
  PairSums out = sums_.view();
  if (!quanta) out.quanta = nullptr;
  last_ = method;
  constexpr std::int64_t piece = 32;
  const auto [first, end] = shares_.mine(lists_.groups());
  const auto began = std::chrono::steady_clock::now();
  team_for_uneven((end - first + piece - 1) / piece, [&, first = first, end = end](std::int64_t n) {
    kernel(problem, lists, out, first + n * piece, std::min(end, first + (n + 1) * piece));
  });
  shares_.gather(out, lists_.groups(), is_fixed(method), energy);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  ListPass pass = watch(method, energy);
  pass.seconds = seconds;
  return pass;
}

template <class T>
bool CpuListEngine<T>::infinite(Method method, bool energy, std::size_t slot) const {
  if (is_fixed(method)) return !std::isfinite(sums_.worst_ratio[slot]) || !std::isfinite(sums_.worst_energy[slot]);
  const auto slots = std::size_t(order_.slots());
  for (std::size_t sum = 0; sum < std::size_t(energy ? all_sums : force_sums); ++sum) {
    if (!std::isfinite(sums_.values[sum * slots + slot])) return true;
  }
  return false;
}

template <class T>
ListPass CpuListEngine<T>::watch(Method method, bool energy) const {
  constexpr std::int64_t piece = 4096;
  const std::int64_t size = order_.size(), pieces = (size + piece - 1) / piece;
  std::vector<ListPass> found(static_cast<std::size_t>(pieces));
  team_for(pieces, [&](std::int64_t n) {
    ListPass part;
    for (auto slot = std::size_t(n * piece); slot < std::size_t(std::min(size, (n + 1) * piece)); ++slot) {
      if (part.infinite < 0 && infinite(method, energy, slot)) part.infinite = order_.particle_of[slot];
      if (!is_fixed(method)) continue;
      part.watch.ratio = std::max(part.watch.ratio, sums_.worst_ratio[slot]);
      part.watch.energy = std::max(part.watch.energy, sums_.worst_energy[slot]);
      part.watch.strayed |= sums_.strayed[slot];
      if (sums_.strayed[slot] != 0) part.watch.who = order_.particle_of[slot];
    }
    found[std::size_t(n)] = part;
  });
  ListPass pass;
  for (const ListPass& part : found) {
    if (pass.infinite < 0) pass.infinite = part.infinite;
    pass.watch.ratio = std::max(pass.watch.ratio, part.watch.ratio);
    pass.watch.energy = std::max(pass.watch.energy, part.watch.energy);
    pass.watch.strayed |= part.watch.strayed;
    if (part.watch.strayed != 0) pass.watch.who = part.watch.who;
  }
  return pass;
}

template <class T>
void CpuListEngine<T>::forces(double unit, std::span<double> out) {
  const auto slots = std::size_t(order_.slots());
  team_ranges(system_.size(), [&](std::int64_t begin, std::int64_t end) {
    for (auto i = std::size_t(begin); i < std::size_t(end); ++i) {
      const auto slot = std::size_t(order_.slot_of[i]);
      for (std::size_t k = 0; k < 3; ++k) out[3 * i + k] = sums_.values[k * slots + slot] * unit;
    }
  });
}

template <class T>
std::vector<std::int64_t> CpuListEngine<T>::quanta() {
  std::vector<std::int64_t> out(3 * order_.slot_of.size());
  const auto slots = std::size_t(order_.slots());
  for (std::size_t n = 0; n < out.size(); ++n) {
    out[n] = sums_.quanta[n % 3 * slots + std::size_t(order_.slot_of[n / 3])];
  }
  return out;
}

template <class T>
std::array<double, total_sums> CpuListEngine<T>::totals() {
  std::array<double, total_sums> out{};
  for (std::size_t sum = 0; sum < out.size(); ++sum) {
    const std::size_t from = (std::size_t(force_sums) + sum) * std::size_t(order_.slots());
    if (is_fixed(last_)) {
      __int128 added = 0;
      for (const std::int32_t slot : order_.slot_of) added += sums_.quanta[from + std::size_t(slot)];
      out[sum] = double(added);
    } else {
      const auto added = chunked_sum<1>(system_.size(), [&](std::int64_t particle, std::array<double, 1>& part) {
        part[0] += sums_.values[from + std::size_t(order_.slot_of[std::size_t(particle)])];
      });
      out[sum] = added[0];
    }
  }
  return out;
}

}  // namespace

std::unique_ptr<ListEngine> make_cpu_list_engine(const System& system, const ListOptions& options) {
  if (options.forces.method == Method::double_double) return std::make_unique<CpuListEngine<double>>(system, options);
  return std::make_unique<CpuListEngine<float>>(system, options);
}

}  // namespace quadrille::md
