#include "dirac/dslash.h"
#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/gauge/start.h"
#include "core/tuning/kernel_log.h"
#include "dirac/systems/even_odd.h"
#include "dirac/wilson.h"
#include "input/bench/measurements.h"

#include <deque>
#include <span>
#include <utility>
#include <vector>

namespace quadrille::bench {
namespace {

constexpr double wilson_flops = 1320;
constexpr std::uint64_t dslash_seed = 20091107;

struct Pair {
  Field in, out;
};

/// Pairs for lists of `rhs` calls that take turns, four pairs or more in all.
int pairs_for(int rhs) { return rhs * ((3 + rhs) / rhs); }

std::vector<Pair> random_pairs(const Bench& bench, Precision precision, int count) {
  Field gaussian(FieldDesc::spinor(bench.lattice, Subset::Full, Precision::Double, bench.backend));
  const FieldDesc desc = FieldDesc::spinor(bench.lattice, Subset::Full, precision, bench.backend);
  std::vector<Pair> pairs;
  for (int i = 0; i < count; ++i) {
    fill_gaussian(gaussian, dslash_seed + std::uint64_t(i));
    pairs.push_back({Field(desc), Field(desc)});
    convert(pairs.back().in, gaussian);
  }
  return pairs;
}

struct Form {
  bool temporal_gauge, xpay;
};

/// Calls measure(dslash, form, pairs) for every form on random links.
template <class Measure>
void for_every_form(const Bench& bench, std::initializer_list<Form> forms, int pair_count, Measure&& measure) {
  const auto gauge = std::make_shared<const GaugeStore>(bench.lattice, GaugeStart::hot(dslash_seed), bench.backend);
  for (Precision precision : bench.precisions()) {
    std::vector<Pair> pairs = random_pairs(bench, precision, pair_count);
    for (Reconstruct reconstruct : bench.reconstructs()) {
      for (const Form& form : forms) {
        const Dslash dslash("wilson", gauge, HopScalars{.boundary = {0, 0, 0, 1}},
                            {precision, reconstruct, form.temporal_gauge});
        measure(dslash, form, pairs);
      }
    }
  }
}

Row row_of(const Bench& bench, const std::string& name, const Dslash& dslash, const Form& form) {
  Row row = bench.row(name, dslash.form().precision);
  row.reconstruct = int(dslash.form().reconstruct);
  row.temporal_gauge = form.temporal_gauge;
  row.xpay = form.xpay;
  row.isa = dslash.architecture();
  row.bytes_per_site = dslash.bytes_per_site(form.xpay);
  row.flops_per_site = wilson_flops + (form.xpay ? 48 : 0);
  return row;
}

/// The list of calls of turn `turn`.
std::span<Pair> turn_of(std::vector<Pair>& pairs, unsigned turn, int rhs) {
  const std::size_t lists = pairs.size() / std::size_t(rhs);
  return std::span(pairs).subspan(turn % lists * std::size_t(rhs), std::size_t(rhs));
}

void apply(const Dslash& dslash, std::span<Pair> pairs, Parity result, bool xpay) {
  struct Parities {
    Parities(Pair& pair, Parity p) : y(pair.out.parity(p)), x(pair.in.parity(opposite(p))), z(pair.in.parity(p)) {}
    Field y, x, z;
  };
  std::deque<Parities> parities;
  std::vector<Operands> list;
  for (Pair& pair : pairs) {
    Parities& of = parities.emplace_back(pair, result);
    list.push_back({&of.y, &of.x, xpay ? &of.z : nullptr});
  }
  dslash.apply_each(list, Dagger::No, {-0.5}, {4.1});
}

}  // namespace

void measure_dslash(const Bench& bench) {
  const int rhs = bench.options.rhs;
  for_every_form(bench, {{false, false}, {true, false}, {false, true}}, pairs_for(rhs),
                 [&](const Dslash& dslash, const Form& form, std::vector<Pair>& pairs) {
                   Row row = row_of(bench, "dslash", dslash, form);
                   row.rhs = rhs;
                   row.bytes_per_site = dslash.bytes_per_site(form.xpay, 0, std::size_t(rhs));
                   unsigned turn = 0;
                   row.seconds = bench.time([&] {
                     const Parity result = turn % 2 == 0 ? Parity::Odd : Parity::Even;
                     apply(dslash, turn_of(pairs, turn / 2, rhs), result, form.xpay);
                     ++turn;
                   });
                   row.resources = dslash.kernel_resources(std::size_t(rhs));
                   bench.add(row);
                 });
}

void measure_dslash_same(const Bench& bench) {
  for_every_form(bench, {{false, false}, {true, false}}, 1,
                 [&](const Dslash& dslash, const Form& form, std::vector<Pair>& pairs) {
                   Row row = row_of(bench, "dslash_same", dslash, form);
                   row.seconds = bench.time([&] { apply(dslash, pairs, Parity::Even, form.xpay); });
                   row.resources = dslash.kernel_resources();
                   bench.add(row);
                 });
}

void measure_dslash_full(const Bench& bench) {
  for_every_form(bench, {{false, false}, {true, false}}, 1,
                 [&](const Dslash& dslash, const Form& form, std::vector<Pair>& pairs) {
                   Row row = row_of(bench, "dslash_full", dslash, form);
                   row.parity = "both";
                   row.sites *= 2;
                   row.seconds = bench.time([&] {
                     apply(dslash, pairs, Parity::Even, form.xpay);
                     apply(dslash, pairs, Parity::Odd, form.xpay);
                   });
                   bench.add(row);
                 });
}

namespace {

struct NamedOperator {
  const char* name;
  WilsonParameters parameters;
};
/// With numbers as of production runs.
const NamedOperator operators[] = {
    {"wilson", {.mass = 0.1, .boundary = {0, 0, 0, 1}}},
    {"twisted_mass", {.mass = 0.1, .mu = 0.05, .boundary = {0, 0, 0, 1}}},
    {"clover", {.mass = 0.1, .csw_r = 1.769, .csw_t = 1.769, .boundary = {0, 0, 0, 1}}},
    {"exponential_clover",
     {.mass = 0.1, .csw_r = 1.769, .csw_t = 1.769, .exponential = true, .boundary = {0, 0, 0, 1}}},
    {"twisted_clover", {.mass = 0.1, .mu = 0.05, .csw_r = 1.769, .csw_t = 1.769, .boundary = {0, 0, 0, 1}}},
};

/// What the kernels of one call read and write, per site of the result.
double bytes_of(const std::vector<KernelRecord>& kernels, const Lattice& lattice) {
  double bytes = 0;
  for (const KernelRecord& kernel : kernels) bytes += kernel.bytes_per_site * double(kernel.sites);
  return bytes / double(lattice.half_volume());
}

void measure_one(const Bench& bench, const NamedOperator& named, const EvenOddOperator& a, const WilsonOperator& m,
                 std::vector<Pair>& pairs) {
  Row row = bench.row(named.name, m.form().precision);
  row.reconstruct = int(m.form().reconstruct);
  row.temporal_gauge = m.form().temporal_gauge;
  row.isa = m.dslash().architecture();
  row.flops_per_site = a.flops() / double(bench.lattice.half_volume());
  row.rhs = bench.options.rhs;
  unsigned turn = 0;
  const auto apply_once = [&] {
    std::deque<std::pair<Field, Field>> parities;
    std::vector<Operands> list;
    for (Pair& pair : turn_of(pairs, turn++, row.rhs)) {
      auto& [y, x] = parities.emplace_back(pair.out.parity(Parity::Even), pair.in.parity(Parity::Even));
      list.push_back({&y, &x});
    }
    a.apply_each(list, Dagger::No);
  };
  const auto before = kernel_records();
  apply_once();
  row.bytes_per_site = bytes_of(kernel_records_since(before), bench.lattice) / row.rhs;
  row.seconds = bench.time(apply_once);
  row.resources = m.dslash().kernel_resources(std::size_t(row.rhs));
  bench.add(row);
}

}  // namespace

void measure_operator(const Bench& bench) {
  // Links as rough as thermal ones: a clover term of random links cannot be inverted on some sites.
  const auto gauge =
      std::make_shared<const GaugeStore>(bench.lattice, GaugeStart::weak(dslash_seed, 0.4), bench.backend);
  for (const NamedOperator& named : operators) {
    const WilsonOperator outer(gauge, named.parameters, {});
    for (Precision precision : bench.precisions()) {
      std::vector<Pair> pairs = random_pairs(bench, precision, pairs_for(bench.options.rhs));
      for (Reconstruct reconstruct : bench.reconstructs()) {
        for (const bool temporal_gauge : {false, true}) {
          const std::shared_ptr<const DiracOperator> dirac =
              outer.converted_dirac({precision, reconstruct, temporal_gauge});
          const EvenOddOperator a(dirac);
          measure_one(bench, named, a, static_cast<const WilsonOperator&>(*dirac), pairs);
        }
      }
    }
  }
}

}  // namespace quadrille::bench
