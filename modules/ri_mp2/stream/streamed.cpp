#include "modules/ri_mp2/stream/streamed.h"

#include "core/backend/backend.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/split_product.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/stream/scratch_file.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <memory>
#include <type_traits>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::ProductPrecision;

/// Of the cap, for the tiles of split products, of which each thread has one.
constexpr std::int64_t part_for_tiles = 8;

/// As large as 64 threads may have them, or as products want them with fewer threads: the cap alone decides, as the
/// number of threads must not enter the sums.
struct CappedTiles {
  CappedTiles(std::int64_t rows, std::int64_t cap)
      : tile(mgemm::choose_tile(rows, rows,
                                std::max<std::int64_t>({1, numbers(cap) / 64, std::min(numbers(cap), wanted)}))),
        threads(int(std::clamp<std::int64_t>(numbers(cap) / (tile.rows * tile.cols), 1, omp_get_max_threads()))) {}

  mgemm::Tile tile;
  int threads;

 private:
  static constexpr std::int64_t wanted = 256 * 256;
  static std::int64_t numbers(std::int64_t cap) { return cap / part_for_tiles / std::int64_t(sizeof(float)); }
};

std::int64_t numbers_of_orbital(const System& system) { return system.virtuals * system.auxiliary; }
std::int64_t numbers_of_b(const System& system) { return system.pairs() * system.auxiliary; }
std::int64_t square(std::int64_t n) { return n * n; }

/// B, [occupied][virtuals][auxiliary], in a scratch file.
template <class T>
class StoredB {
 public:
  StoredB(const System& system, const Options& options)
      : orbital_(numbers_of_orbital(system) * std::int64_t(sizeof(T))),
        file_(options.scratch.empty() ? "ri_mp2.scratch" : options.scratch, system.occupied * orbital_) {}

  void write(std::int64_t first, std::int64_t count, const T* rows, Step& step) {
    file_.write(first * orbital_, rows, count * orbital_);
    step.streamed += count * orbital_;
  }
  void read(std::int64_t first, std::int64_t count, T* rows, Step& step) const {
    file_.read(first * orbital_, rows, count * orbital_);
    step.streamed += count * orbital_;
  }

 private:
  std::int64_t orbital_;  ///< bytes
  ScratchFile file_;
};

// ---- step 3 ----

bool in_single(const Options& options) { return options.products.precision == ProductPrecision::single; }

/// Bytes that a slab takes for each orbital, and besides.
std::int64_t slab_orbital_bytes(const System& system) { return 16 * numbers_of_orbital(system); }
std::int64_t slab_bytes(const System& system, const Options& options) {
  return in_single(options) ? 4 * square(system.auxiliary) : 0;
}
std::int64_t least_of_step3(const System& system, const Options& options) {
  return slab_bytes(system, options) + slab_orbital_bytes(system);
}

/// Orbitals of a slab. A split product may have half of the cap for its panels.
std::int64_t slab_orbitals(const System& system, const Options& options, std::int64_t cap) {
  constexpr std::int64_t enough = std::int64_t(1) << 30;
  const std::int64_t room = splits_step3(options) ? cap / 2 : cap - slab_bytes(system, options);
  return std::clamp<std::int64_t>(std::min(room, enough) / slab_orbital_bytes(system), 1, system.occupied);
}

/// (ia|P) of some orbitals, where the caller has it or else in `memory`.
const double* ia_p_of(const System& system, std::int64_t first, std::int64_t count, std::vector<double>& memory) {
  const std::int64_t orbital = numbers_of_orbital(system);
  if (!system.ia_p.empty()) return system.ia_p.data() + first * orbital;
  memory.resize(std::size_t(count * orbital));
  system.read_ia_p(first, count, memory.data());
  check_ia_p(system, memory.data(), first * orbital, count * orbital);
  return memory.data();
}

/// Step 3 in single.
class SingleSlabs {
 public:
  using Number = float;
  SingleSlabs(const System& system, const Options&, const std::vector<double>& root, std::int64_t /*cap*/)
      : system_(system), root_(root.begin(), root.end()) {}

  const float* multiply(const double* ia_p, std::int64_t orbitals) {
    const std::int64_t numbers = orbitals * numbers_of_orbital(system_);
    a_.assign(ia_p, ia_p + numbers);
    b_.resize(std::size_t(numbers));
    (void)mgemm::cleaver(
        rows_of_step3(system_, orbitals * system_.virtuals, a_.data(), std::as_const(root_).data(), b_.data()));
    return b_.data();
  }
  Step3Errors finish(Step& step) const {
    step.form = "single";
    return {};
  }

 private:
  const System& system_;
  std::vector<float> root_, a_, b_;
};

/// Step 3 in double, or split where the first slab is worth it.
class DoubleSlabs {
 public:
  using Number = double;
  DoubleSlabs(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap)
      : system_(system), options_(options), root_(root), cap_(cap) {}

  const double* multiply(const double* ia_p, std::int64_t orbitals) {
    b_.resize(std::size_t(orbitals * numbers_of_orbital(system_)));
    const auto gemm = rows_of_step3(system_, orbitals * system_.virtuals, ia_p, root_.data(), b_.data());
    if (splits_step3(options_) && (rows_ == 0 || report_.form == mgemm::MgemmForm::split)) {
      add(mgemm::mgemm(gemm, options_.step3, how(orbitals)), gemm.m);
    } else {
      (void)mgemm::cleaver(gemm);
    }
    return b_.data();
  }
  Step3Errors finish(Step& step) const {
    if (splits_step3(options_)) return describe_step3(report_, step);
    step.form = "double";
    return {};
  }

 private:
  /// The first slab decides for all of them, as a part of the whole product.
  mgemm::MgemmOptions how(std::int64_t orbitals) const {
    mgemm::MgemmOptions out = mgemm_options(options_);
    out.memory_cap = std::max<std::int64_t>(1, cap_ - orbitals * slab_orbital_bytes(system_));
    if (rows_ == 0) {
      out.cost.smallest_product *= double(orbitals) / double(system_.occupied);
    } else {
      out.always_split = true;
    }
    return out;
  }

  void add(const mgemm::MgemmReport& found, std::int64_t rows) {
    const mgemm::MgemmReport before = report_;
    const double bound = std::max(before.bound, found.bound);
    const double large = before.large_a * double(rows_) + found.large_a * double(rows);
    if (rows_ == 0) report_ = found;
    report_.bound = bound;
    rows_ += rows;
    report_.large_a = large / double(rows_);
  }

  const System& system_;
  const Options& options_;
  const std::vector<double>& root_;
  std::int64_t cap_;
  std::vector<double> b_;
  mgemm::MgemmReport report_;
  std::int64_t rows_ = 0;  ///< that the report is of
};

template <class Slabs>
void write_b(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap,
             StoredB<typename Slabs::Number>& b, Step& step, Step3Errors& errors) {
  const double began = now();
  Slabs slabs(system, options, root, cap);
  std::vector<double> ia_p;
  const std::int64_t most = slab_orbitals(system, options, cap);
  for (std::int64_t first = 0; first < system.occupied; first += most) {
    const std::int64_t count = std::min(most, system.occupied - first);
    b.write(first, count, slabs.multiply(ia_p_of(system, first, count, ia_p), count), step);
  }
  errors = slabs.finish(step);
  step.seconds += now() - began;
  step.flops += 2.0 * double(numbers_of_b(system)) * double(system.auxiliary);
}

// ---- step 4 ----

/// The units of B that are in memory: a block that stays, and one that passes in the last slot.
template <class T>
class UnitsHere {
 public:
  UnitsHere(const System& system, const StreamPlan& plan, const StoredB<T>& b, Step& step)
      : system_(system),
        plan_(plan),
        b_(b),
        step_(step),
        unit_(plan.batch * numbers_of_orbital(system)),
        memory_(std::make_unique_for_overwrite<T[]>(std::size_t((plan.kept + 1) * unit_))) {}

  void keep(std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    read(0, first * plan_.batch, std::min(count * plan_.batch, system_.occupied - first * plan_.batch));
  }
  void pass(std::int64_t unit) { read(plan_.kept, unit * plan_.batch, plan_.batch); }

  std::int64_t slot(std::int64_t unit) const {
    return unit >= first_ && unit < first_ + count_ ? unit - first_ : plan_.kept;
  }
  DenseView<const T> rows(std::int64_t unit) const {
    const std::int64_t n = system_.auxiliary;
    const std::int64_t orbitals = std::min(plan_.batch, system_.occupied - unit * plan_.batch);
    return {memory_.get() + slot(unit) * unit_, orbitals * system_.virtuals, n, n, true};
  }

 private:
  void read(std::int64_t slot, std::int64_t orbital, std::int64_t count) {
    b_.read(orbital, count, memory_.get() + slot * unit_, step_);
  }

  const System& system_;
  const StreamPlan& plan_;
  const StoredB<T>& b_;
  Step& step_;
  std::int64_t unit_;  ///< numbers
  std::unique_ptr<T[]> memory_;
  std::int64_t first_ = 0, count_ = 0;
};

/// prepare(slot, rows) is told of each unit that has come; multiply(units, i, j, integrals) writes the products of the
/// rows of unit i with those of unit j, by rows.
template <class T, class Prepare, class Multiply>
void sum_units(const System& system, const Options& options, const StoredB<T>& b, const StreamPlan& plan,
               const Prepare& prepare, const Multiply& multiply, Energy& energy) {
  energy.batch = plan.batch;
  energy.stream = {plan.bytes, std::min(plan.kept * plan.batch, system.occupied)};
  UnitsHere<T> units(system, plan, b, energy.step4);
  const std::int64_t v = system.virtuals;
  const auto integrals = std::make_unique_for_overwrite<T[]>(std::size_t(square(plan.batch * v)));
  const auto timed = [&](std::int64_t first, std::int64_t count, const auto& bring) {
    const double began = now();
    bring();
    for (std::int64_t unit = first; unit < first + count; ++unit) prepare(units.slot(unit), units.rows(unit));
    energy.step4.seconds += now() - began;
  };
  const auto order = [&](const auto& use) {
    for_each_pair(
        plan, [&](std::int64_t first, std::int64_t count) { timed(first, count, [&] { units.keep(first, count); }); },
        [&](std::int64_t j) { timed(j, 1, [&] { units.pass(j); }); }, use);
  };
  sum_in_order<T>(
      system, options, integrals.get(), order,
      [&](const Batch<T>& batch) {
        multiply(units, batch.first_i / plan.batch, batch.first_j / plan.batch,
                 DenseView<T>{integrals.get(), batch.count_i * v, batch.count_j * v, batch.count_j * v, true});
      },
      [&](const Batch<T>& batch) { viewer<T>(options)(batch); },
      [&](const Batch<T>& batch) { return sum_batch(system, batch); }, energy);
}

template <class T>
StreamCosts plain_costs(const System& system) {
  const std::int64_t bytes = sizeof(T), orbital = bytes * numbers_of_orbital(system);
  return {orbital, orbital, bytes * square(system.virtuals), 0};
}

template <class T>
void sum_in_one_precision_streamed(const System& system, const Options& options, const StoredB<T>& b,
                                   const StreamPlan& plan, Energy& energy) {
  sum_units<T>(
      system, options, b, plan, [](std::int64_t, const DenseView<const T>&) {},
      [](const UnitsHere<T>& units, std::int64_t i, std::int64_t j, const DenseView<T>& integrals) {
        // The transpose of the integrals is stored by columns.
        mgemm::shared_product(T(1), units.rows(j), units.rows(i).transposed(), T(0), integrals.transposed());
      },
      energy);
}

/// `large`: elements of an orbital that are in lists, at most.
StreamCosts split_costs(const System& system, std::int64_t large) {
  const std::int64_t orbital = 12 * numbers_of_orbital(system) + large_element_bytes * large;
  return {orbital, orbital, 8 * square(system.virtuals), 0};
}

/// Those that a plan for this cap is made of.
StreamCosts split_costs_within(const System& system, std::int64_t large, std::int64_t cap) {
  StreamCosts costs = split_costs(system, large);
  // Fixed is what a plan of the smallest cap has for tiles.
  costs.fixed = (costs.smallest() + part_for_tiles - 2) / (part_for_tiles - 1);
  if (costs.smallest() <= cap) costs.fixed = cap / part_for_tiles;
  return costs;
}

void sum_split_streamed(const System& system, const Options& options, const StoredB<double>& b, const StreamPlan& plan,
                        std::int64_t cap, const SplitChoice& choice, Energy& energy) {
  const CappedTiles tiles(plan.batch * system.virtuals, cap);
  std::vector<mgemm::SplitFactor> factors(std::size_t(plan.kept + 1));
  sum_units<double>(
      system, options, b, plan,
      [&](std::int64_t slot, const DenseView<const double>& of_unit) {
        factors[std::size_t(slot)].assign(of_unit, choice.delta);
      },
      [&](const UnitsHere<double>& units, std::int64_t i, std::int64_t j, const DenseView<double>& integrals) {
        mgemm::multiply_split(1.0, factors[std::size_t(units.slot(j))], factors[std::size_t(units.slot(i))], 0.0,
                              integrals.transposed(), choice.depth, tiles.tile, tiles.threads);
      },
      energy);
}

void sum_in_mixed_precision_streamed(const System& system, const Options& options, const std::vector<double>& root,
                                     std::int64_t cap, std::int64_t most_batch, Energy& energy) {
  const std::int64_t in_whole = energy.batch, step3 = least_of_step3(system, options);
  (void)require_plan(system, options, split_costs_within(system, 0, cap), step3, cap, most_batch);
  StoredB<double> b(system, options);
  Step3Errors errors;
  write_b<DoubleSlabs>(system, options, root, cap, b, energy.step3, errors);
  std::int64_t most_large = 0;
  const EachOrbital each = [&](const auto& use) {
    std::vector<double> rows(std::size_t(numbers_of_orbital(system)));
    for (std::int64_t i = 0; i < system.occupied; ++i) {
      b.read(i, 1, rows.data(), energy.step4);
      use({rows.data(), system.virtuals, system.auxiliary, system.auxiliary, true});
    }
  };
  const SplitChoice choice = split_within_target(
      options, errors,
      [&](const Step3Errors& of_b) {
        const StreamedSplit found = choose_split_of_orbitals(system, root, each, of_b, options, in_whole);
        most_large = found.most_large;
        return found.choice;
      },
      [&] {
        Step3Errors none;
        write_b<DoubleSlabs>(system, with_step3_in_double(options), root, cap, b, energy.step3, none);
      },
      energy);
  if (choice.split) {
    const StreamCosts costs = split_costs_within(system, most_large, cap);
    if (const std::optional<StreamPlan> plan = plan_stream(system.occupied, costs, cap, most_batch)) {
      return sum_split_streamed(system, options, b, *plan, cap, choice, energy);
    }
    energy.step4.form = no_room_for_lists(cap);
    energy.step4.delta = 0;
  }
  const StreamPlan plan = require_plan(system, options, plain_costs<double>(system), step3, cap, most_batch);
  sum_in_one_precision_streamed(system, options, b, plan, energy);
}

template <class Slabs>
void sum_plainly_streamed(const System& system, const Options& options, const std::vector<double>& root,
                          std::int64_t cap, std::int64_t most_batch, Energy& energy) {
  using T = typename Slabs::Number;
  const StreamPlan plan =
      require_plan(system, options, plain_costs<T>(system), least_of_step3(system, options), cap, most_batch);
  StoredB<T> b(system, options);
  Step3Errors ignored;
  write_b<Slabs>(system, options, root, cap, b, energy.step3, ignored);
  sum_in_one_precision_streamed(system, options, b, plan, energy);
}

/// Bytes of steps 3 and 4 with B in memory.
double whole_bytes(const System& system, const Options& options, std::int64_t batch) {
  const double b = double(numbers_of_b(system)), integrals = double(square(batch * system.virtuals));
  const double ia_p = system.ia_p.empty() ? 8 * b : 0;
  switch (options.products.precision) {
    case ProductPrecision::double_: return ia_p + 8 * b + 8 * integrals;
    case ProductPrecision::single: return ia_p + std::max(16 * b, 12 * b + 4 * integrals);
    case ProductPrecision::mgemm: break;
  }
  const mgemm::Cutoff& cutoff = options.products.cutoff;
  const bool any_number = options.products.always_split && !cutoff.automatic;  // of large elements
  const double lists = large_element_bytes * (any_number ? 1 : mgemm::most_listed) * b;
  const double sample = cutoff.automatic && cutoff.assurance == mgemm::Assurance::measured
                            ? 3.0 * 8 * SampledEnergyError::rows * double(system.pairs())
                            : 0;
  return ia_p + 12 * b + lists + std::max(8 * integrals, sample);
}

}  // namespace

std::optional<std::int64_t> stream_cap_here(const System& system, const Options& options, std::int64_t batch) {
  const double whole = whole_bytes(system, options, batch);
  if (options.memory_cap > 0)
    return whole > double(options.memory_cap) ? std::optional(options.memory_cap) : std::nullopt;
  if (options.scratch.empty()) return {};
  const double root = options.root == nullptr ? 8 * double(square(system.auxiliary)) : 0;  // made later, and kept
  const double free = std::max(1.0, 0.95 * memory_here().free - root);
  return whole > free ? std::optional(std::int64_t(free)) : std::nullopt;
}

bool is_streamable(const Options& options) {
  const mgemm::Cutoff& cutoff = options.products.cutoff;
  return options.products.precision != ProductPrecision::mgemm || !cutoff.automatic ||
         cutoff.assurance == mgemm::Assurance::certain;
}

void require_streamable(const Options& options) {
  if (is_streamable(options)) return;
  throw Error(
      ErrorCode::invalid_input,
      "B does not fit into memory, and the sample that chooses an automatic delta needs all of B: give a delta, or "
      "assurance certain, or a larger memory_cap");
}

std::string no_room_for_lists(std::int64_t cap) {
  return fmt::format("double: large elements leave no room for a split in {} bytes", cap);
}

StreamPlan require_plan(const System& system, const Options& options, const StreamCosts& costs, std::int64_t step3,
                        std::int64_t cap, std::int64_t most_batch) {
  const std::int64_t least = std::max(costs.smallest(), step3);
  if (cap >= least) {
    if (const std::optional<StreamPlan> plan = plan_stream(system.occupied, costs, cap, most_batch)) return *plan;
  }
  constexpr std::int64_t mebibyte = 1 << 20;
  const std::string bytes = fmt::format("{} bytes ({} MiB)", least, (least + mebibyte - 1) / mebibyte);
  if (options.memory_cap == cap) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("a memory_cap of {} bytes does not hold one pair of occupied orbitals: the smallest that "
                            "does is {}",
                            cap, bytes));
  }
  const bool there = options.backend != nullptr && !options.backend->host_memory();
  throw NotEnoughMemory(fmt::format(
      "not enough memory: one pair of occupied orbitals needs {} of the {}'s memory, of "
      "which only {} bytes are available: {}",
      bytes, there ? "GPU" : "host", cap, there ? "free memory there, or compute on the CPU" : "free memory"));
}

void sum_streamed_here(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap,
                       Energy& energy) {
  const mgemm::OneBlasThread threads;  // once for all products, which may be many and small
  constexpr std::int64_t rows = 512;   // that products should have
  const std::int64_t most_batch = std::min(energy.batch, (rows + system.virtuals - 1) / system.virtuals);
  switch (options.products.precision) {
    case ProductPrecision::double_:
      energy.step4.form = "double";
      return sum_plainly_streamed<DoubleSlabs>(system, options, root, cap, most_batch, energy);
    case ProductPrecision::single:
      energy.step4.form = "single";
      return sum_plainly_streamed<SingleSlabs>(system, options, root, cap, most_batch, energy);
    case ProductPrecision::mgemm:
      return sum_in_mixed_precision_streamed(system, options, root, cap, most_batch, energy);
  }
}

}  // namespace quadrille::ri_mp2
