#include "modules/md/pairs/pair_tables.h"

#include <algorithm>
#include <cmath>

namespace quadrille::md {
namespace {

/// Largest magnitudes of what acts between any two particles.
struct Largest {
  double c12 = 0, c6 = 0, charges = 0;
};

Largest largest_of(const System& system, const ForceOptions& options) {
  Largest out;
  for (const double c : system.table.c12) out.c12 = std::max(out.c12, std::abs(c));
  for (const double c : system.table.c6) out.c6 = std::max(out.c6, std::abs(c));
  for (const ScaledPair& pair : system.scaled_pairs) {
    out.c12 = std::max(out.c12, std::abs(pair.c12));
    out.c6 = std::max(out.c6, std::abs(pair.c6));
  }
  if (options.coulomb == Coulomb::none) return out;
  double charge = 0;
  for (const double q : system.charges) charge = std::max(charge, std::abs(q));
  out.charges = charge * charge;
  for (const ScaledPair& pair : system.scaled_pairs) {
    out.charges = std::max(out.charges, std::abs(pair.charge_product));
  }
  out.charges *= std::abs(system.coulomb_constant);
  return out;
}

template <class T>
T scaled(double number, int exponent) {
  return T(std::ldexp(number, exponent));
}

}  // namespace

ReactionField reaction_field(const ForceOptions& options) {
  if (options.coulomb != Coulomb::reaction_field) return {};
  const double e = options.dielectric, rc = options.cutoff;
  const double krf = (e - 1) / (2 * e + 1) / (rc * rc * rc);
  return {krf, 1 / rc + krf * rc * rc};
}

template <class T>
void TypeTables<T>::scale(const LennardJonesTable& table, const Exponents& exponents) {
  const std::size_t count = table.c12.size();
  for (std::vector<T>* numbers : {&force12, &force6, &energy12, &energy6}) numbers->resize(count);
  for (std::size_t n = 0; n < count; ++n) {
    force12[n] = scaled<T>(12 * table.c12[n], exponents.force);
    force6[n] = scaled<T>(-6 * table.c6[n], exponents.force);
    energy12[n] = scaled<T>(table.c12[n], exponents.energy);
    energy6[n] = scaled<T>(-table.c6[n], exponents.energy);
  }
}

template <class T>
ListedPair<T> scaled_pair(const ScaledPair& own, std::int32_t other, const Exponents& exponents) {
  const int f = exponents.force, e = exponents.energy;
  return {other,
          0,
          scaled<T>(12 * own.c12, f),
          scaled<T>(-6 * own.c6, f),
          scaled<T>(own.c12, e),
          scaled<T>(-own.c6, e),
          T(own.charge_product)};
}

template <class T>
void scale_constants(PairProblem<T>& problem, const System& system, const ForceOptions& options,
                     const Exponents& exponents) {
  const ReactionField field = reaction_field(options);
  problem.coulomb = scaled<T>(system.coulomb_constant, exponents.force);
  problem.minus_two_krf = T(-2 * field.krf);
  problem.krf = T(field.krf);
  problem.minus_crf = T(-field.crf);
  problem.energy_scale = scaled<T>(1, exponents.energy - exponents.force);
}

template <class T>
void PairTables<T>::scale(const System& system, const ForceOptions& options, const PairOrder& order,
                          const ListedPairs& pairs, const Exponents& exponents) {
  of_types.scale(system.table, exponents);
  charge.assign(std::size_t(order.slots()), T(0));
  if (options.coulomb != Coulomb::none) {
    for (std::size_t i = 0; i < system.charges.size(); ++i) {
      charge[std::size_t(order.slot_of[i])] = T(system.charges[i]);
    }
  }
  listed.clear();
  for (const ListedIndex& index : pairs.pairs) {
    if (index.scaled < 0) {
      listed.push_back({index.other, 1, 0, 0, 0, 0, 0});
    } else {
      listed.push_back(scaled_pair<T>(system.scaled_pairs[std::size_t(index.scaled)], index.other, exponents));
    }
  }
  scale_constants(numbers_, system, options, exponents);
}

template <class T>
void PairTables<T>::place(std::span<const double> positions, const PairOrder& order, const ForceOptions& options,
                          const std::array<double, 3>& box) {
  std::vector<T>* const axes[3] = {&x, &y, &z};
  for (std::size_t k = 0; k < 3; ++k) {
    double least = positions[k], most = positions[k];
    for (std::size_t n = k; n < positions.size(); n += 3) {
      least = std::min(least, positions[n]);
      most = std::max(most, positions[n]);
    }
    const double middle = least + (most - least) / 2;
    axes[k]->assign(std::size_t(order.slots()), T(0));
    for (std::size_t i = 0; i < order.slot_of.size(); ++i) {
      const double at = positions[3 * i + k];
      const bool periodic = options.cutoff > 0;
      (*axes[k])[std::size_t(order.slot_of[i])] = T(periodic ? at - box[k] * std::floor(at / box[k]) : at - middle);
    }
    numbers_.edges[k] = T(box[k]);
    numbers_.inverse_edges[k] = box[k] > 0 ? T(1 / box[k]) : T(0);
  }
  numbers_.cutoff_squared = T(options.cutoff * options.cutoff);
}

template <class T>
PairProblem<T> PairTables<T>::problem(const PairOrder& order, const ListedPairs& pairs) const {
  PairProblem<T> out = numbers_;
  out.chunks = std::int32_t(order.groups());
  int types = 1;
  while (std::size_t(types) * std::size_t(types) < of_types.force12.size()) ++types;
  out.types = types;
  out.x = x.data();
  out.y = y.data();
  out.z = z.data();
  out.charge = charge.data();
  out.chunk_type = order.chunk_type.data();
  out.chunk_count = order.chunk_count.data();
  out.force12 = of_types.force12.data();
  out.force6 = of_types.force6.data();
  out.energy12 = of_types.energy12.data();
  out.energy6 = of_types.energy6.data();
  out.masked_begin = order.masked_begin.data();
  out.masked_chunks = order.masked_chunks.data();
  out.mask = order.mask.data();
  out.listed_begin = pairs.begin.data();
  out.listed = listed.data();
  return out;
}

template struct TypeTables<float>;
template struct TypeTables<double>;
template ListedPair<float> scaled_pair<float>(const ScaledPair&, std::int32_t, const Exponents&);
template ListedPair<double> scaled_pair<double>(const ScaledPair&, std::int32_t, const Exponents&);
template void scale_constants(PairProblem<float>&, const System&, const ForceOptions&, const Exponents&);
template void scale_constants(PairProblem<double>&, const System&, const ForceOptions&, const Exponents&);
template struct PairTables<float>;
template struct PairTables<double>;

double force_bound(const System& system, const ForceOptions& options, double ratio, double constant_force) {
  const Largest most = largest_of(system, options);
  const double field = 2 * reaction_field(options).krf * options.cutoff;
  const auto beyond = [&](double r) {
    return 12 * most.c12 / std::pow(r, 13) + 6 * most.c6 / std::pow(r, 7) + most.charges * (1 / (r * r) + field) +
           constant_force;
  };
  double low = 1e-20, high = 1e20;
  for (int step = 0; step < 200; ++step) {
    const double middle = std::sqrt(low * high);
    (ratio * middle < beyond(middle) ? low : high) = middle;
  }
  return std::max(ratio * high, beyond(high)) * (1 + 1e-4);  // room for the rounding of single precision
}

double largest_coefficient(const System& system, const ForceOptions& options) {
  const Largest most = largest_of(system, options);
  return std::max({12 * most.c12, 6 * most.c6, most.charges, std::abs(system.coulomb_constant)});
}

}  // namespace quadrille::md
