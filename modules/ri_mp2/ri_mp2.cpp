#include "modules/ri_mp2/ri_mp2.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/mgemm/product/split_product.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/device.h"
#include "modules/ri_mp2/energy.h"
#include "modules/ri_mp2/step3.h"
#include "modules/ri_mp2/stream/streamed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille::ri_mp2 {
namespace {

using mgemm::ProductPrecision;

/// The dataset of the file that a system was read from.
Location place_of(const System& system, const char* dataset) {
  return system.file.empty() ? Location{} : Location{.file = system.file, .dataset = dataset};
}

void require_length(const System& system, const std::vector<double>& array, std::int64_t length, const char* name,
                    const char* dataset) {
  if (std::int64_t(array.size()) == length) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("{} must have {} numbers, but there are {}", name, length, array.size()),
              place_of(system, dataset));
}

/// `count` numbers of an array from number `first` on.
void require_finite(const System& system, const double* numbers, std::int64_t first, std::int64_t count,
                    const char* name, const char* dataset) {
  std::int64_t bad = count;
#pragma omp parallel for reduction(min : bad)
  for (std::int64_t number = 0; number < count; ++number) {
    if (!std::isfinite(numbers[number])) bad = std::min(bad, number);
  }
  if (bad == count) return;
  throw Error(ErrorCode::numerical,
              fmt::format("{}: number {} (from 0) is {}; it must be finite", name, first + bad, numbers[bad]),
              place_of(system, dataset));
}

/// An array of a system: its name in formulas, and in files.
void require_array(const System& system, const std::vector<double>& array, std::int64_t length, const char* name,
                   const char* dataset) {
  require_length(system, array, length, name, dataset);
  require_finite(system, array.data(), 0, length, name, dataset);
}

void require_functions(const System& system) {
  if (system.occupied >= 1 && system.virtuals >= 1 && system.auxiliary >= 1) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("a system needs at least one occupied, virtual and auxiliary function; got {}, {} and {}",
                          system.occupied, system.virtuals, system.auxiliary),
              place_of(system, "ia_P"));
}

/// Whether (ia|P) is not in memory yet.
bool reads_ia_p(const System& system) { return system.ia_p.empty() && system.read_ia_p; }

void check(const System& system) {
  check_orbital_energies(system);
  if (!reads_ia_p(system)) require_array(system, system.ia_p, system.pairs() * system.auxiliary, "(ia|P)", "ia_P");
  require_array(system, system.p_q, system.auxiliary * system.auxiliary, "(P|Q)", "P_Q");
}

std::vector<float> in_single(const std::vector<double>& from) { return {from.begin(), from.end()}; }

bool on_device(const Options& options) { return options.backend != nullptr && !options.backend->host_memory(); }

/// The rows of B of every batch of occupied orbitals.
template <class T>
std::vector<DenseView<const T>> batches_of(const System& system, const T* b, std::int64_t batch) {
  std::vector<DenseView<const T>> batches;
  const std::int64_t n = system.auxiliary;
  for (std::int64_t i = 0; i < system.occupied; i += batch) {
    const std::int64_t first = i * system.virtuals, rows = std::min(batch, system.occupied - i) * system.virtuals;
    batches.push_back({b + first * n, rows, n, n, true});
  }
  return batches;
}

/// Step 4 and the sums. multiply(i, j, integrals) writes the products of the rows of B of batch i with those of batch
/// j, by rows.
template <class T, class Multiply>
void sum_batches_here(const System& system, const Options& options, const Multiply& multiply, Energy& energy) {
  const std::int64_t v = system.virtuals, n = energy.batch * v;
  std::vector<T> memory(static_cast<std::size_t>(n * n));
  sum_over_batches<T>(
      system, options, memory.data(),
      [&](const Batch<T>& batch) {
        multiply(std::size_t(batch.first_i / energy.batch), std::size_t(batch.first_j / energy.batch),
                 DenseView<T>{memory.data(), batch.count_i * v, batch.count_j * v, batch.count_j * v, true});
      },
      [&](const Batch<T>& batch) { viewer<T>(options)(batch); },
      [&](const Batch<T>& batch) { return sum_batch(system, batch); }, energy);
}

/// Step 4 and the sums with all products in the precision of T.
template <class T>
void sum_in_one_precision(const System& system, const Options& options, const T* b, Energy& energy) {
  const std::vector<DenseView<const T>> rows = batches_of(system, b, energy.batch);
  sum_batches_here<T>(
      system, options,
      [&](std::size_t i, std::size_t j, const DenseView<T>& integrals) {
        // The transpose of the integrals is stored by columns.
        mgemm::shared_product(T(1), rows[j], rows[i].transposed(), T(0), integrals.transposed());
      },
      energy);
}

/// `b` is made anew where its errors are too large for the target.
void sum_in_mixed_precision(const System& system, const Options& options, const std::vector<double>& root,
                            std::vector<double>& b, const Step3Errors& errors, Energy& energy) {
  const SplitChoice choice = split_within_target(
      options, errors,
      [&](const Step3Errors& of_b) { return choose_split_here(system, root, b, of_b, options, energy.batch); },
      [&] {
        b = std::vector<double>();  // its memory is needed
        Step3Errors none;
        b = make_b_here(system, with_step3_in_double(options), root, energy.step3, none);
      },
      energy);
  if (!choice.split) return sum_in_one_precision(system, options, b.data(), energy);
  const double began = now();
  std::vector<mgemm::SplitFactor> factors;
  for (const DenseView<const double>& rows : batches_of(system, b.data(), energy.batch)) {
    factors.emplace_back().assign(rows, choice.delta);
  }
  energy.step4.seconds += now() - began;
  sum_batches_here<double>(
      system, options,
      [&](std::size_t i, std::size_t j, const DenseView<double>& integrals) {
        mgemm::multiply_split(1.0, factors[i], factors[j], 0.0, integrals, choice.depth);
      },
      energy);
}

/// Occupied orbitals of a batch: as many as memory holds the integrals of, but no more than let the symmetry of i and j
/// save nearly half of the work, in products that are not too small.
std::int64_t batch_size(const System& system, const Options& options) {
  const double one = double(system.virtuals) * double(system.virtuals) * sizeof(double);
  const auto fits = std::int64_t(std::sqrt(double(options.memory) / one));
  const auto least = [](std::int64_t n, std::int64_t parts) { return (n + parts - 1) / parts; };
  constexpr std::int64_t batches = 8, rows = 512;
  const std::int64_t useful = std::max(least(system.occupied, batches), least(rows, system.virtuals));
  if (fits >= 1) return std::min({fits, useful, system.occupied});
  throw Error(ErrorCode::invalid_input,
              fmt::format("the integrals of one pair of occupied orbitals need {:.0f} bytes, but `memory` allows {}",
                          one, options.memory));
}

/// The root: the caller's, or what `computed` becomes.
const std::vector<double>& find_root(const System& system, const Options& options, std::vector<double>& computed,
                                     Energy& energy) {
  if (options.root != nullptr) {
    require_length(system, *options.root, system.auxiliary * system.auxiliary, "(P|Q)^-1/2", "P_Q");
    return *options.root;
  }
  const double began = now();
  computed = inverse_square_root(system);
  energy.metric_seconds = now() - began;
  return computed;
}

void sum_here(const System& system, const Options& options, const std::vector<double>& root, Energy& energy) {
  Step3Errors errors;
  std::vector<double> b = make_b_here(system, options, root, energy.step3, errors);
  switch (options.products.precision) {
    case ProductPrecision::double_:
      energy.step4.form = "double";
      return sum_in_one_precision(system, options, b.data(), energy);
    case ProductPrecision::single: {
      energy.step4.form = "single";
      const double began = now();
      const std::vector<float> single = in_single(b);
      energy.step4.seconds += now() - began;
      return sum_in_one_precision(system, options, single.data(), energy);
    }
    case ProductPrecision::mgemm: return sum_in_mixed_precision(system, options, root, b, errors, energy);
  }
}

/// The system with (ia|P) in memory.
System with_ia_p(const System& system) {
  const std::int64_t numbers = system.pairs() * system.auxiliary;
  require_memory(sizeof(double) * double(numbers),
                 system.file.empty() ? "(ia|P)" : fmt::format("{}: dataset ia_P", system.file));
  System whole = system;
  whole.read_ia_p = {};
  whole.ia_p.resize(std::size_t(numbers));
  system.read_ia_p(0, system.occupied, whole.ia_p.data());
  return whole;
}

/// The bytes through which B passes; nothing where it is all in memory.
std::optional<std::int64_t> stream_cap(const System& system, const Options& options, std::int64_t batch) {
  if (options.memory_cap < 0) {
    throw Error(ErrorCode::invalid_input,
                fmt::format("memory_cap = {}: it must be 0 or more bytes", options.memory_cap));
  }
  if (options.memory_cap == 0 && !is_streamable(options)) return {};
  if (!on_device(options)) return stream_cap_here(system, options, batch);
  return with_cuda<std::optional<std::int64_t>>([&](auto) { return stream_cap_there(system, options, batch); });
}

}  // namespace

void check_orbital_energies(const System& system) {
  require_functions(system);
  require_array(system, system.eps_occupied, system.occupied, "the occupied orbital energies", "eps_occ");
  require_array(system, system.eps_virtual, system.virtuals, "the virtual orbital energies", "eps_vir");
  const double highest = *std::max_element(system.eps_occupied.begin(), system.eps_occupied.end());
  const double lowest = *std::min_element(system.eps_virtual.begin(), system.eps_virtual.end());
  if (lowest > highest) return;
  throw Error(
      ErrorCode::invalid_input,
      fmt::format(
          "the gap must be positive: the highest occupied orbital is at {} Hartree, the lowest virtual one at {}",
          highest, lowest),
      place_of(system, "eps_vir"));
}

void check_ia_p(const System& system, const double* numbers, std::int64_t first, std::int64_t count) {
  require_finite(system, numbers, first, count, "(ia|P)", "ia_P");
}

std::vector<double> inverse_square_root(const System& system) {
  try {
    return inverse_square_root(system.p_q, system.auxiliary);
  } catch (const Error& error) {
    throw Error(error.code(), error.message(), place_of(system, "P_Q"));
  }
}

bool needs_scratch(const System& system, const Options& options) {
  require_functions(system);
  if (on_device(options)) return false;
  Options with_scratch = options;
  if (with_scratch.scratch.empty()) with_scratch.scratch.push_back('.');
  return stream_cap(system, with_scratch, batch_size(system, options)).has_value();
}

std::vector<double> make_b(const System& system, const Options& options, Energy& report) {
  check(system);
  if (reads_ia_p(system)) return make_b(with_ia_p(system), options, report);
  std::vector<double> computed;
  const std::vector<double>& root = find_root(system, options, computed, report);
  report.step3 = {};
  Step3Errors ignored;
  return on_device(options) ? with_cuda<std::vector<double>>(
                                  [&](auto) { return make_b_on_device(system, options, root, report.step3); })
                            : make_b_here(system, options, root, report.step3, ignored);
}

Energy correlation_energy(const System& system, const Options& options) {
  Energy energy;
  check(system);
  if (options.products.precision == ProductPrecision::mgemm) {
    mgemm::check_choices(options.products.cutoff, mgemm_options(options));
  }
  energy.batch = batch_size(system, options);
  const std::optional<std::int64_t> cap = stream_cap(system, options, energy.batch);
  if (reads_ia_p(system) && (!cap || on_device(options))) return correlation_energy(with_ia_p(system), options);
  if (cap) require_streamable(options);
  std::vector<double> computed;
  const std::vector<double>& root = find_root(system, options, computed, energy);
  if (!on_device(options)) {
    cap ? sum_streamed_here(system, options, root, *cap, energy) : sum_here(system, options, root, energy);
  } else {
    with_cuda([&](auto) {
      cap ? sum_streamed_there(system, options, root, *cap, energy) : sum_on_device(system, options, root, energy);
    });
  }
  energy.correlation = energy.opposite_spin + energy.same_spin;
  if (!std::isfinite(energy.correlation)) {
    throw Error(ErrorCode::numerical, "the correlation energy is not finite: integrals overflow in this precision");
  }
  return energy;
}

}  // namespace quadrille::ri_mp2
