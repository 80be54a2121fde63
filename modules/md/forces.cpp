#include "modules/md/forces.h"

#include "core/backend/backend.h"
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "modules/md/pair_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace quadrille::md {
namespace {

[[noreturn]] void fail(ErrorCode code, const std::string& message) { throw Error(code, message); }

/// Largest exponents of a term in quanta (core/accumulators/fixed_point.h).
int term_exponent(Method method) {
  switch (method) {
    case Method::narumi_constant: return 38;
    case Method::int64:
    case Method::exact: return 45;
    default: return 40;
  }
}

/// E begins at 1.5 x 2^21 in units of the force, as in the paper, where no force is too large for that; in scaled units
/// it is 1.5 x 2^48.
constexpr int large_exponent = 48 - 21;

/// What a pass has written, by slot.
struct Sums {
  std::vector<double> values;
  std::vector<std::int64_t> quanta;
  std::vector<float> worst_ratio, worst_energy;
  std::vector<std::uint8_t> strayed;

  explicit Sums(std::int64_t slots) {
    const auto count = std::size_t(slots);
    values.assign(all_sums * count, std::numeric_limits<double>::quiet_NaN());
    quanta.assign(all_sums * count, std::numeric_limits<std::int64_t>::min());
    worst_ratio.resize(count);
    worst_energy.resize(count);
    strayed.resize(count);
  }
  PairSums view() {
    return {values.data(),       quanta.data(),  worst_ratio.data(),
            worst_energy.data(), strayed.data(), std::int64_t(strayed.size())};
  }
};

}  // namespace

struct PairForces::State {
  State(const System& given, const ForceOptions& chosen)
      : system(given),
        options(chosen),
        order(prepare()),
        pairs(list_pairs(system, order, afterwards())),
        sums(order.slots()) {
    const bool host = options.backend == nullptr || options.backend->host_memory();
    engine = host ? make_cpu_engine(order, pairs) : make_cuda_engine(order, pairs);
  }

  PairOrder prepare() {
    check_system(system, options);
    for (std::vector<double>* unused : {&system.positions, &system.masses}) std::vector<double>().swap(*unused);
    system.bonds.clear();
    system.angles.clear();
    system.torsions.clear();
    for (auto& [a, b] : system.exclusions) {
      if (a > b) std::swap(a, b);
    }
    std::sort(system.exclusions.begin(), system.exclusions.end());
    system.exclusions.erase(std::unique(system.exclusions.begin(), system.exclusions.end()), system.exclusions.end());
    return order_particles(system, afterwards() ? std::vector<Exclusion>{} : system.exclusions);
  }
  bool afterwards() const { return options.exclusions == ExclusionWay::afterwards; }

  void check_positions(std::span<const double> positions, const std::array<double, 3>& box) const;
  void place(std::span<const double> positions, const std::array<double, 3>& box);
  void run_pass(Method method, bool energy);
  void run(std::span<const double> positions, bool energy);
  bool rescale(Method method, std::span<const double> positions);
  [[noreturn]] void explain(std::int32_t particle, std::span<const double> positions) const;
  void check_finite(bool energy, std::span<const double> positions) const;
  double total(int sum) const;
  ForceResult result(bool energy) const;

  System system;  ///< without positions, masses and bonded terms
  ForceOptions options;
  PairOrder order;
  ListedPairs pairs;
  PairTables<float> single;
  PairTables<double> wide;
  Sums sums;
  std::unique_ptr<PairEngine> engine;
  Exponents exponents;
  bool scaled = false;  ///< exponents are known from an earlier pass
  bool stale = true;    ///< tables have not been scaled by them
  int passes = 0;
  double seconds = 0;  ///< of the last pass
  std::array<double, 3> edges{};
};

void PairForces::State::check_positions(std::span<const double> positions, const std::array<double, 3>& box) const {
  if (std::int64_t(positions.size()) != 3 * system.size()) {
    fail(ErrorCode::invalid_input,
         fmt::format("{} coordinates for {} particles: it must be three each", positions.size(), system.size()));
  }
  for (std::size_t n = 0; n < positions.size(); ++n) {
    if (std::isfinite(positions[n]) && std::abs(positions[n]) < 1e15) continue;
    fail(ErrorCode::numerical,
         fmt::format("coordinate {} of particle {} is {}", "xyz"[n % 3], n / 3 + 1, positions[n]));
  }
  if (!(options.cutoff > 0)) return;
  for (std::size_t k = 0; k < 3; ++k) {
    if (box[k] >= 2 * options.cutoff && std::isfinite(box[k])) continue;
    fail(ErrorCode::invalid_input, fmt::format("edge {} of the box is {:g}: it must be at least twice the cutoff, {:g}",
                                               "xyz"[k], box[k], 2 * options.cutoff));
  }
}

void PairForces::State::place(std::span<const double> positions, const std::array<double, 3>& box) {
  edges = box;
  if (options.method == Method::double_double) {
    wide.place(positions, order, options, box);
  } else {
    single.place(positions, order, options, box);
  }
}

void PairForces::State::run_pass(Method method, bool energy) {
  if (stale) {
    if (options.method == Method::double_double) {
      wide.scale(system, options, order, pairs, exponents);
    } else {
      single.scale(system, options, order, pairs, exponents);
    }
  }
  const PairForm form{method, options.coulomb != Coulomb::none, options.cutoff > 0, energy};
  seconds = engine->run(form, single, wide, stale, sums.view());
  stale = false;
  ++passes;
}

/// Whether another pass is needed, with other exponents.
bool PairForces::State::rescale(Method method, std::span<const double> positions) {
  float ratio = 0, energy = 0;
  std::uint8_t strayed = 0;
  std::int32_t who = -1;
  for (std::size_t slot = 0; slot < order.particle_of.size(); ++slot) {
    const std::int32_t particle = order.particle_of[slot];
    if (particle < 0) continue;
    if (!std::isfinite(sums.worst_ratio[slot]) || !std::isfinite(sums.worst_energy[slot])) explain(particle, positions);
    ratio = std::max(ratio, sums.worst_ratio[slot]);
    energy = std::max(energy, sums.worst_energy[slot]);
    strayed |= sums.strayed[slot];
    if (sums.strayed[slot] != 0) who = particle;
  }
  const int most = term_exponent(method);
  const double largest = force_bound(system, options, std::ldexp(double(ratio), -exponents.force));
  const double largest_energy = std::ldexp(double(energy), -exponents.energy);
  const int room = 100 - int(std::ceil(std::log2(std::max(1e-30, largest_coefficient(system, options)))));
  const auto fitting = [&](double term) {
    return term > 0 ? std::min(room, most - 1 - int(std::ceil(std::log2(term)))) : std::min(room, 0);
  };
  Exponents next = exponents;
  if (!scaled || std::ldexp(largest, exponents.force) > std::ldexp(1.0, most)) next.force = fitting(largest);
  if (!scaled || std::ldexp(largest_energy, exponents.energy) > std::ldexp(1.0, most)) {
    next.energy = largest_energy > 0 ? fitting(largest_energy) : next.force;
  }
  if (scaled && (strayed & 1) != 0) next.force = std::min(next.force, exponents.force - 4);
  if (scaled && (strayed & 2) != 0) next.energy = std::min(next.energy, exponents.energy - 4);
  if (scaled && next.force == exponents.force && next.energy == exponents.energy) return false;
  if (next.force < -100 || next.energy < -100) {
    fail(ErrorCode::numerical, fmt::format("the sum for particle {} is too large for fixed point", who + 1));
  }
  exponents = next;
  scaled = stale = true;
  return true;
}

void PairForces::State::run(std::span<const double> positions, bool energy) {
  passes = 0;
  const bool fixed = is_fixed(options.method), large = options.method == Method::nitadori_large;
  if (large && !scaled) {  // its terms are not watched; those of F are the same
    do run_pass(Method::narumi, energy);
    while (rescale(Method::narumi, positions));
    exponents.force = std::min(exponents.force, large_exponent);
    stale = true;
  }
  run_pass(options.method, energy);
  while (fixed && rescale(options.method, positions)) run_pass(options.method, energy);
  if (!fixed) check_finite(energy, positions);
}

void PairForces::State::check_finite(bool energy, std::span<const double> positions) const {
  const std::size_t slots = order.particle_of.size();
  for (std::size_t slot = 0; slot < slots; ++slot) {
    if (order.particle_of[slot] < 0) continue;
    for (std::size_t sum = 0; sum < std::size_t(energy ? all_sums : force_sums); ++sum) {
      if (!std::isfinite(sums.values[sum * slots + slot])) explain(order.particle_of[slot], positions);
    }
  }
}

/// Why a sum of this particle is not finite.
void PairForces::State::explain(std::int32_t particle, std::span<const double> positions) const {
  double least = std::numeric_limits<double>::infinity();
  std::int64_t other = -1;
  for (std::int64_t j = 0; j < system.size(); ++j) {
    double squared = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      double d = positions[3 * std::size_t(particle) + k] - positions[3 * std::size_t(j) + k];
      if (options.cutoff > 0) d -= edges[k] * std::rint(d / edges[k]);
      squared += d * d;
    }
    const Exclusion pair{std::min<std::int32_t>(particle, std::int32_t(j)),
                         std::max<std::int32_t>(particle, std::int32_t(j))};
    const bool excluded = std::binary_search(system.exclusions.begin(), system.exclusions.end(), pair);
    if (j == particle || (excluded && !afterwards()) || !(squared < least)) continue;
    least = squared;
    other = j;
  }
  fail(ErrorCode::numerical, fmt::format("the force on particle {} is not finite: particle {} is at a distance of {:g}",
                                         particle + 1, other + 1, std::sqrt(least)));
}

/// Half the sum over all particles, unscaled: every pair has been met twice.
double PairForces::State::total(int sum) const {
  const std::size_t slots = order.particle_of.size(), from = std::size_t(sum) * slots;
  if (is_fixed(options.method)) {
    __int128 quanta = 0;
    for (const std::int32_t slot : order.slot_of) quanta += sums.quanta[from + std::size_t(slot)];
    return std::ldexp(double(quanta), -exponents.energy - 1);
  }
  const auto added = chunked_sum<1>(system.size(), [&](std::int64_t particle, std::array<double, 1>& part) {
    part[0] += sums.values[from + std::size_t(order.slot_of[std::size_t(particle)])];
  });
  return std::ldexp(added[0], -exponents.energy - 1);
}

ForceResult PairForces::State::result(bool energy) const {
  ForceResult out;
  out.passes = passes;
  out.pass_seconds = seconds;
  out.exponent = exponents.force;
  const std::size_t slots = order.particle_of.size(), size = order.slot_of.size();
  out.forces.resize(3 * size);
  if (is_fixed(options.method)) out.quanta.resize(3 * size);
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t at = k * slots + std::size_t(order.slot_of[i]);
      out.forces[3 * i + k] = std::ldexp(sums.values[at], -exponents.force);
      if (!out.quanta.empty()) out.quanta[3 * i + k] = sums.quanta[at];
    }
  }
  if (!energy) return out;
  out.energy = total(3);
  const double xx = total(4), xy = total(5), xz = total(6), yy = total(7), yz = total(8), zz = total(9);
  out.virial = {xx, xy, xz, xy, yy, yz, xz, yz, zz};
  return out;
}

PairForces::PairForces(const System& system, const ForceOptions& options)
    : state_(std::make_unique<State>(system, options)) {}
PairForces::~PairForces() = default;
PairForces::PairForces(PairForces&&) noexcept = default;
PairForces& PairForces::operator=(PairForces&&) noexcept = default;

std::int64_t PairForces::size() const { return state_->system.size(); }

ForceResult PairForces::compute(std::span<const double> positions, const std::array<double, 3>& box, bool energy) {
  state_->check_positions(positions, box);
  state_->place(positions, box);
  state_->run(positions, energy);
  return state_->result(energy);
}

ForceResult PairForces::compute_there(const double* positions, const std::array<double, 3>& box, double* forces,
                                      bool energy) {
  Backend& backend = state_->options.backend == nullptr ? cpu_backend() : *state_->options.backend;
  std::vector<double> here(3 * std::size_t(size()));
  backend.copy_out(here.data(), positions, here.size() * sizeof(double));
  ForceResult result = compute(here, box, energy);
  backend.copy_in(forces, result.forces.data(), result.forces.size() * sizeof(double));
  result.forces.clear();
  result.quanta.clear();
  return result;
}

ForceResult forces(const System& system, const ForceOptions& options) {
  return PairForces(system, options).compute(system.positions, system.box, true);
}

}  // namespace quadrille::md
