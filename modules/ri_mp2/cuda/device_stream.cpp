// Steps 3 and 4 on a GPU with B in the host's memory: blocks of it pass through the device's.
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "core/system/memory.h"
#include "modules/mgemm/choice/forms.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/device_step4.h"
#include "modules/ri_mp2/cuda/device_sums.h"
#include "modules/ri_mp2/device.h"
#include "modules/ri_mp2/stream/streamed.h"
#include "modules/shared/dense/cuda/host_link.h"

#include <algorithm>
#include <optional>

namespace quadrille::ri_mp2 {
namespace {

// ---- step 3: panels of (ia|P) pass through the device, B comes back ----

std::vector<double> b_from_device(const System& system, const Options& options, const std::vector<double>& root,
                                  std::int64_t cap, Step& step, Step3Errors& errors) {
  const double began = now();
  require_memory(8.0 * double(system.ia_p.size()), "B");
  std::vector<double> b(system.ia_p.size());
  const mgemm::Gemm<double> gemm = product_of_step3(system, system.ia_p.data(), root.data(), b.data());
  errors = {};
  if (splits_step3(options)) {
    mgemm::MgemmOptions how = mgemm_options(options);
    how.memory_cap = cap;
    errors = describe_step3(mgemm::mgemm(gemm, options.step3, how), step);
  } else {
    step.form = "double";
    (void)mgemm::cleaver(gemm, {cap, options.backend});
  }
  step.streamed += 2 * std::int64_t(b.size() * sizeof(double));
  step.seconds += now() - began;
  step.flops += 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
  return b;
}

std::vector<float> single_b_from_device(const System& system, const Options& options, const std::vector<double>& root,
                                        std::int64_t cap, Step& step) {
  const double began = now();
  require_memory(8.0 * double(system.ia_p.size()), "B with (ia|P) in single precision");
  const std::vector<float> ia_p(system.ia_p.begin(), system.ia_p.end()), rounded(root.begin(), root.end());
  std::vector<float> b(ia_p.size());
  const mgemm::Gemm<float> gemm = product_of_step3(system, ia_p.data(), rounded.data(), b.data());
  (void)mgemm::cleaver(gemm, {cap, options.backend});
  step.form = "single";
  step.streamed += 2 * std::int64_t(b.size() * sizeof(float));
  step.seconds += now() - began;
  step.flops += 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
  return b;
}

// ---- step 4 ----

/// The units of B that are on the device: a block that stays, one that passes, and the next of those on its way.
template <class T>
class UnitsThere {
 public:
  UnitsThere(const System& system, const StreamPlan& plan, const std::vector<T>& b, Step& step)
      : system_(system),
        plan_(plan),
        b_(b),
        step_(step),
        kept_(array<T>(plan.kept * numbers_of_unit(), "a block of B")),
        slots_{Slot(numbers_of_unit()), Slot(numbers_of_unit())} {}

  /// Asks for a block; the first of the units that pass before it follows.
  void keep(std::int64_t first, std::int64_t count) {
    first_ = first;
    count_ = count;
    cuda::pass(event_, cuda::stream(), link_.up());  // the block before has been read
    const std::int64_t last = std::min(system_.occupied, (first + count) * plan_.batch);
    send(first * plan_.batch * system_.virtuals, last * system_.virtuals, kept_.get());
    cuda::pass(event_, link_.up(), cuda::stream());
    if (first == 0) return;
    ask(0);
    send_until(rows_of(0));
  }

  /// Later work on the backend's stream sees unit j; the next one is asked for, in parts that send_next() sends.
  void pass(std::int64_t j) {
    cuda::wait(cuda::stream(), slot(j).arrived);
    if (j + 1 < first_) ask(j + 1);
  }

  /// After the product of unit i of the block with unit j is queued: while it is done, a part of the next unit is sent.
  void send_next(std::int64_t i, std::int64_t j) {
    if (j >= first_) return;
    const std::int64_t done = i - first_ + 1;
    if (done == count_) cuda::record(slot(j).read, cuda::stream());
    if (j + 1 < first_) send_until(rows_of(j + 1) * done / count_);
  }

  /// Without gaps, by rows; a block's units lie one behind the other.
  DenseView<const T> rows(std::int64_t unit) const {
    const std::int64_t n = system_.auxiliary;
    const T* at = is_kept(unit) ? kept_.get() + (unit - first_) * numbers_of_unit() : slot(unit).memory.get();
    return {at, rows_of(unit), n, n, true};
  }
  DenseView<const T> block() const {
    const std::int64_t n = system_.auxiliary, last = std::min(system_.occupied, (first_ + count_) * plan_.batch);
    return {kept_.get(), (last - first_ * plan_.batch) * system_.virtuals, n, n, true};
  }
  std::int64_t first() const { return first_; }

 private:
  struct Slot {
    explicit Slot(std::int64_t numbers) : memory(array<T>(numbers, "a unit of B")) {
      cuda::record(read, cuda::stream());  // the pool gives memory in the order of the backend's stream
    }
    cuda::DeviceArray<T> memory;
    cuda::OwnedEvent arrived = cuda::make_event(), read = cuda::make_event();
  };
  const Slot& slot(std::int64_t unit) const { return slots_[unit % 2]; }

  bool is_kept(std::int64_t unit) const { return unit >= first_ && unit < first_ + count_; }
  std::int64_t numbers_of_unit() const { return plan_.batch * system_.virtuals * system_.auxiliary; }
  std::int64_t rows_of(std::int64_t unit) const {
    return std::min(plan_.batch, system_.occupied - unit * plan_.batch) * system_.virtuals;
  }

  void ask(std::int64_t unit) {
    asked_ = unit;
    sent_ = 0;
    cuda::wait(link_.up(), slot(unit).read);
  }
  /// Rows of the unit that was asked for.
  void send_until(std::int64_t end) {
    const std::int64_t first = asked_ * plan_.batch * system_.virtuals;
    send(first + sent_, first + end, slot(asked_).memory.get() + sent_ * system_.auxiliary);
    sent_ = end;
    if (end == rows_of(asked_)) cuda::record(slot(asked_).arrived, link_.up());
  }
  /// Rows [begin, end) of B.
  void send(std::int64_t begin, std::int64_t end, T* to) {
    if (end == begin) return;
    const std::int64_t n = system_.auxiliary;
    link_.send(DenseView<const T>{b_.data() + begin * n, end - begin, n, n, true}, to);
    step_.streamed += (end - begin) * n * std::int64_t(sizeof(T));
  }

  const System& system_;
  const StreamPlan& plan_;
  const std::vector<T>& b_;
  Step& step_;
  std::int64_t first_ = 0, count_ = 0;
  std::int64_t asked_ = 0, sent_ = 0;  ///< the unit on its way, and how many of its rows are
  cuda::DeviceArray<T> kept_;
  Slot slots_[2];
  cuda::OwnedEvent event_ = cuda::make_event();
  cuda::HostLink link_;  // after the arrays: it waits for what travels before they go
};

/// kept(units) is told of each new block; multiply(units, i, j, out) asks for the products of the rows of unit j with
/// those of unit i: `out` is stored by columns.
template <class T, class Kept, class Multiply>
void sum_units_there(const System& system, const Options& options, const std::vector<T>& b, const StreamPlan& plan,
                     const Kept& kept, const Multiply& multiply, Energy& energy) {
  energy.batch = plan.batch;
  energy.stream = {plan.bytes, std::min(plan.kept * plan.batch, system.occupied)};
  const std::int64_t v = system.virtuals, n = plan.batch * v;
  UnitsThere<T> units(system, plan, b, energy.step4);
  const auto memory = array<T>(n * n, "a batch of integrals");
  const Energies energies(system);
  const auto timed = [&](const auto& bring) {
    const double began = now();
    bring();
    energy.step4.seconds += now() - began;
  };
  const auto order = [&](const auto& use) {
    for_each_pair(
        plan,
        [&](std::int64_t first, std::int64_t count) {
          timed([&] {
            units.keep(first, count);
            kept(units);
          });
        },
        [&](std::int64_t j) { timed([&] { units.pass(j); }); }, use);
  };
  sum_in_order<T>(
      system, options, memory.get(), order,
      [&](const Batch<T>& batch) {
        const std::int64_t i = batch.first_i / plan.batch, j = batch.first_j / plan.batch;
        const std::int64_t rows = batch.count_i * v, columns = batch.count_j * v;
        multiply(units, i, j, DenseView<T>{memory.get(), columns, rows, columns, false});
        units.send_next(i, j);
        cuda_backend().synchronize();
      },
      [&](const Batch<T>& batch) { show_there(system, options, batch); },
      [&](const Batch<T>& batch) { return sum_there(system, energies, batch); }, energy);
}

template <class T>
StreamCosts plain_costs_there(const System& system) {
  const std::int64_t bytes = sizeof(T), v = system.virtuals, orbital = bytes * v * system.auxiliary;
  return {orbital, 2 * orbital, bytes * v * v, stream_reserve};
}

/// What panels of step 3 want at least.
std::int64_t least_of_step3_there(const System& system) { return 8 * 64 * system.auxiliary; }

template <class T>
void sum_plain_units_there(const System& system, const Options& options, const std::vector<T>& b,
                           const StreamPlan& plan, Energy& energy) {
  sum_units_there<T>(
      system, options, b, plan, [](const UnitsThere<T>&) {},
      [](const UnitsThere<T>& units, std::int64_t i, std::int64_t j, const DenseView<T>& out) {
        mgemm::dense_product_on_device<T>(T(1), units.rows(j), units.rows(i).transposed(), T(0), out);
      },
      energy);
}

/// Nothing where no split fits. `large`: elements of an orbital above the cutoff, at most.
std::optional<StreamPlan> plan_split_there(const System& system, const mgemm::FormTraits& form, std::int64_t large,
                                           std::int64_t cap, std::int64_t most_batch) {
  const auto costs_of = [&](std::int64_t batch) { return split_stream_costs(system, form, large, batch); };
  return plan_stream_of(system.occupied, costs_of, cap, most_batch);
}

void sum_split_units_there(const System& system, const Options& options, const std::vector<double>& b,
                           const StreamPlan& plan, const SplitChoice& choice, Energy& energy) {
  mgemm::SplitFactors factors(mgemm::traits_of(choice.small_form), choice.delta);
  std::int64_t left = -1;  // the unit that is the left factor
  sum_units_there<double>(
      system, options, b, plan,
      [&](const UnitsThere<double>& units) {
        const DenseView<const double> turned = units.block().transposed();
        factors.load(nullptr, &turned);
        left = -1;
      },
      [&](const UnitsThere<double>& units, std::int64_t i, std::int64_t j, const DenseView<double>& out) {
        if (left != j) {
          const DenseView<const double> rows = units.rows(j);
          factors.load(&rows, nullptr);
          left = j;
        }
        const std::int64_t first = (i - units.first()) * plan.batch * system.virtuals;
        mgemm::multiply_converted(1, {&factors.a(), 0, out.rows}, {&factors.b(), first, out.cols}, 0, out,
                                  choice.depth);
      },
      energy);
}

void sum_in_mixed_precision_there(const System& system, const Options& options, const std::vector<double>& root,
                                  std::int64_t cap, std::int64_t most_batch, Energy& energy) {
  const std::int64_t in_whole = energy.batch;
  // What does not fit with a split is done in double: so this is the smallest cap, known before step 3.
  const StreamPlan plain =
      require_plan(system, options, plain_costs_there<double>(system), least_of_step3_there(system), cap, most_batch);
  Step3Errors errors;
  std::vector<double> b = b_from_device(system, options, root, cap, energy.step3, errors);
  const EachOrbital each = [&](const auto& use) {
    const std::int64_t v = system.virtuals, n = system.auxiliary;
    for (std::int64_t i = 0; i < system.occupied; ++i) use({b.data() + i * v * n, v, n, n, true});
  };
  std::int64_t most_large = 0;
  const SplitChoice choice = split_within_target(
      options, errors,
      [&](const Step3Errors& of_b) {
        const StreamedSplit found = choose_split_of_orbitals_there(system, root, each, of_b, options, in_whole, cap);
        most_large = found.most_large;
        return found.choice;
      },
      [&] {
        b = std::vector<double>();  // its memory is needed
        Step3Errors none;
        b = b_from_device(system, with_step3_in_double(options), root, cap, energy.step3, none);
      },
      energy);
  if (choice.split) {
    const mgemm::FormTraits& form = mgemm::traits_of(choice.small_form);
    if (const std::optional<StreamPlan> plan = plan_split_there(system, form, most_large, cap, most_batch)) {
      return sum_split_units_there(system, options, b, *plan, choice, energy);
    }
    energy.step4.form = no_room_for_lists(cap);
    energy.step4.delta = 0;
  }
  sum_plain_units_there(system, options, b, plain, energy);
}

/// Bytes of steps 3 and 4 with B on the device. `surely`: with the form that takes most, and the sample of a choice;
/// otherwise with the one that takes least.
double whole_bytes_there(const System& system, const Options& options, std::int64_t batch, bool surely) {
  const double numbers = double(system.pairs()) * double(system.auxiliary), n = double(system.auxiliary);
  const double integrals = double(batch * system.virtuals) * double(batch * system.virtuals);
  const double panels =
      8 * n * n + std::min(2 * double(std::int64_t(128) << 20), 16 * numbers) + double(stream_reserve);
  switch (options.products.precision) {
    case mgemm::ProductPrecision::double_: return 8 * numbers + std::max(panels, 8 * integrals);
    case mgemm::ProductPrecision::single: return 4 * numbers + std::max(1.5 * panels, 4 * integrals);
    case mgemm::ProductPrecision::mgemm: break;
  }
  std::optional<std::int64_t> parts;
  for (const mgemm::FormTraits& form : mgemm::all_forms()) {
    if (options.small_form != mgemm::SmallForm::automatic && options.small_form != form.form) continue;
    const std::int64_t bytes = 2 * mgemm::DeviceFactor::bytes(system.pairs(), system.auxiliary, form);
    parts = !parts ? bytes : surely ? std::max(*parts, bytes) : std::min(*parts, bytes);
  }
  const bool any_number = options.products.always_split && !options.products.cutoff.automatic;  // of large elements
  const double lists = surely ? 24 * (any_number ? 1 : mgemm::most_listed) * numbers : 0;
  const double sample = surely ? 3.0 * 8 * SampledEnergyError::rows * double(system.pairs()) : 0;
  const double step4 = double(*parts) + lists + std::max(12 * integrals, sample);
  return 8 * numbers + std::max(panels + (splits_step3(options) ? 8 * numbers : 0), step4);
}

}  // namespace

std::optional<std::int64_t> stream_cap_there(const System& system, const Options& options, std::int64_t batch) {
  const std::int64_t cap = mgemm::device_budget(options.memory_cap);
  const double whole = whole_bytes_there(system, options, batch, options.memory_cap > 0);
  return whole > double(cap) ? std::optional(cap) : std::nullopt;
}

void sum_streamed_there(const System& system, const Options& options, const std::vector<double>& root, std::int64_t cap,
                        Energy& energy) {
  constexpr std::int64_t rows = 2048;  // that products should have
  const std::int64_t most_batch = std::min(energy.batch, (rows + system.virtuals - 1) / system.virtuals);
  const std::int64_t step3 = least_of_step3_there(system);
  switch (options.products.precision) {
    case mgemm::ProductPrecision::double_: {
      energy.step4.form = "double";
      const StreamPlan plan = require_plan(system, options, plain_costs_there<double>(system), step3, cap, most_batch);
      Step3Errors ignored;
      const std::vector<double> b = b_from_device(system, options, root, cap, energy.step3, ignored);
      return sum_plain_units_there(system, options, b, plan, energy);
    }
    case mgemm::ProductPrecision::single: {
      energy.step4.form = "single";
      const StreamPlan plan = require_plan(system, options, plain_costs_there<float>(system), step3, cap, most_batch);
      const std::vector<float> b = single_b_from_device(system, options, root, cap, energy.step3);
      return sum_plain_units_there(system, options, b, plan, energy);
    }
    case mgemm::ProductPrecision::mgemm:
      return sum_in_mixed_precision_there(system, options, root, cap, most_batch, energy);
  }
}

}  // namespace quadrille::ri_mp2
