// What the CPU and GPUs do alike of step 4 and the sums: the batches of integrals of a system, one after the other.
#pragma once

#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/split_choice.h"
#include "modules/ri_mp2/step3.h"
#include "modules/shared/study/take_turns.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <type_traits>

namespace quadrille::ri_mp2 {

/// The caller's view of the integrals of each batch, which are in the memory of the host then.
template <class T>
const std::function<void(const Batch<T>&)>& viewer(const Options& options) {
  if constexpr (std::is_same_v<T, double>) {
    return options.see_batch;
  } else {
    return options.see_single_batch;
  }
}

/// Step 4 and the sums. order(use) calls use(i, j) for every two batches j <= i of energy.batch occupied orbitals,
/// once. multiply(batch) makes integrals in `memory`, (ia|jb) of the batch at [ia][jb]; show(batch) brings them to the
/// caller; sum(batch) returns SpinSums. All are done when they return. Tells of progress.
template <class T, class Order, class Multiply, class Show, class Sum>
void sum_in_order(const System& system, const Options& options, const T* memory, const Order& order,
                  const Multiply& multiply, const Show& show, const Sum& sum, Energy& energy) {
  const std::int64_t size = energy.batch, batches = (system.occupied + size - 1) / size;
  const auto count = [&](std::int64_t k) { return std::min(size, system.occupied - k * size); };
  std::int64_t done = 0;
  order([&](std::int64_t i, std::int64_t j) {
    const Batch<T> batch{memory, i * size, count(i), j * size, count(j)};
    const double began = now();
    multiply(batch);
    const double multiplied = now();
    if (viewer<T>(options)) show(batch);
    const double shown = now();
    const SpinSums sums = sum(batch);
    const double integrals =
        double(batch.count_i) * double(batch.count_j) * double(system.virtuals) * double(system.virtuals);
    energy.step4.seconds += multiplied - began;
    energy.step4.flops += 2.0 * integrals * double(system.auxiliary);
    energy.opposite_spin += sums.opposite;
    energy.same_spin += sums.same;
    energy.energy_seconds += now() - shown;
    if (options.progress) options.progress(double(++done) / double(batches * (batches + 1) / 2));
  });
}

/// The same, of a B that is all there.
template <class T, class Multiply, class Show, class Sum>
void sum_over_batches(const System& system, const Options& options, const T* memory, const Multiply& multiply,
                      const Show& show, const Sum& sum, Energy& energy) {
  const std::int64_t batches = (system.occupied + energy.batch - 1) / energy.batch;
  const auto order = [&](const auto& use) {
    for (std::int64_t i = 0; i < batches; ++i) {
      for (std::int64_t j = 0; j <= i; ++j) use(i, j);
    }
  };
  sum_in_order<T>(system, options, memory, order, multiply, show, sum, energy);
}

/// What choose(errors) chooses, into the report. Where the errors of step 3 are too large for the target,
/// make_exact_b() replaces B first.
template <class Choose, class MakeExactB>
SplitChoice split_within_target(const Options& options, const Step3Errors& errors, const Choose& choose,
                                const MakeExactB& make_exact_b, Energy& energy) {
  double began = now();
  SplitChoice choice = choose(errors);
  if (choice.needs_exact_b) {
    energy.step4.seconds += now() - began;
    make_exact_b();
    energy.step3.form = coarse_step3_form(options, choice.error);
    began = now();
    choice = choose(Step3Errors{});
  }
  energy.step4.form = choice.form;
  energy.step4.energy_error = choice.error;
  energy.step4.delta = choice.delta;
  energy.step4.seconds += now() - began;
  return choice;
}

}  // namespace quadrille::ri_mp2
