// Steps 3 and 4 and the sums on a GPU.
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/host_link.h"
#include "core/backend/cuda/panel_buffers.h"
#include "core/error.h"
#include "modules/mgemm/cuda/device_product.h"
#include "modules/mgemm/device.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/cuda/device_step4.h"
#include "modules/ri_mp2/cuda/kernels.h"
#include "modules/ri_mp2/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <type_traits>
#include <utility>

namespace quadrille::ri_mp2 {
namespace {

using cuda::DeviceArray;
using mgemm::ProductPrecision;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class T>
DeviceArray<T> array(std::int64_t count, const char* what) {
  return {count, what, device_advice};
}

DeviceArray<double> sent(const std::vector<double>& numbers, const char* what) {
  return cuda::sent(numbers, what, device_advice);
}

/// Rows of (ia|P) that are on the device at a time.
std::int64_t rows_of_panel(const System& system) {
  constexpr std::int64_t bytes = std::int64_t(128) << 20, least = 256;
  return std::min(system.pairs(), std::max(least, bytes / (8 * system.auxiliary)));
}

/// Calls use(panel, first, rows), which asks the backend's stream for what it does with these rows of (ia|P), while the
/// next ones travel.
template <class Use>
void for_each_panel(const System& system, const Use& use) {
  const std::int64_t n = system.auxiliary, most = rows_of_panel(system);
  cuda::PanelBuffers<double> panels(2, most * n, "a panel of (ia|P)", device_advice);
  cuda::HostLink link;  // after the buffers: it waits for what travels before they go
  for (std::int64_t first = 0; first < system.pairs(); first += most) {
    const std::int64_t rows = std::min(most, system.pairs() - first);
    const auto& panel = panels.load(link, {system.ia_p.data() + first * n, rows, n, n, true});
    panel.begin_reading();
    use(panel.view().data, first, rows);
    panel.end_reading();
  }
}

/// Rows of B = rows of (ia|P) times the root, which is symmetric. By columns: the transpose.
template <class T>
void multiply_rows(const T* rows_of_ia_p, std::int64_t rows, const T* root, std::int64_t n, T* rows_of_b) {
  mgemm::dense_product_on_device<T>(T(1), {root, n, n, n, false}, {rows_of_ia_p, n, rows, n, false}, T(0),
                                    {rows_of_b, n, rows, n, false});
}

DeviceArray<double> b_in_double(const System& system, const std::vector<double>& root) {
  const std::int64_t n = system.auxiliary;
  const auto root_there = sent(root, "(P|Q)^-1/2");
  auto b = array<double>(system.pairs() * n, "B");
  for_each_panel(system, [&](const double* panel, std::int64_t first, std::int64_t rows) {
    multiply_rows(panel, rows, root_there.get(), n, b.get() + first * n);
  });
  return b;
}

DeviceArray<float> b_in_single(const System& system, const std::vector<double>& root) {
  const std::int64_t n = system.auxiliary;
  auto root_there = array<float>(n * n, "(P|Q)^-1/2");
  {
    const auto exact = sent(root, "(P|Q)^-1/2");
    narrow(exact.get(), n * n, root_there.get());
  }
  auto b = array<float>(system.pairs() * n, "B");
  const auto rounded = array<float>(rows_of_panel(system) * n, "a panel of (ia|P)");
  for_each_panel(system, [&](const double* panel, std::int64_t first, std::int64_t rows) {
    narrow(panel, rows * n, rounded.get());
    multiply_rows<float>(rounded.get(), rows, root_there.get(), n, b.get() + first * n);
  });
  return b;
}

DeviceArray<double> b_in_mixed_precision(const System& system, const Options& options, const std::vector<double>& root,
                                         std::string& form) {
  const auto root_there = sent(root, "(P|Q)^-1/2");
  const auto ia_p = array<double>(system.pairs() * system.auxiliary, "(ia|P)");
  auto b = array<double>(ia_p.count(), "B");
  {
    cuda::HostLink link;
    const cuda::OwnedEvent event = cuda::make_event();
    cuda::pass(event, cuda::stream(), link.up());
    link.send(DenseView<const double>{system.ia_p.data(), system.pairs(), system.auxiliary, system.auxiliary, true},
              ia_p.get());
    cuda::pass(event, link.up(), cuda::stream());
  }
  mgemm::Gemm<double> gemm;
  gemm.order = mgemm::Order::rows;
  gemm.m = system.pairs();
  gemm.n = gemm.k = gemm.lda = gemm.ldb = gemm.ldc = system.auxiliary;
  gemm.a = ia_p.get();
  gemm.b = root_there.get();
  gemm.c = b.get();
  mgemm::MgemmOptions mixed;
  mixed.always_split = options.products.always_split;
  mixed.small_form = options.small_form;
  form = step3_form(mgemm::mgemm_on_device(gemm, options.step3, mixed));
  return b;
}

/// Step 3 in the precision of T.
template <class T>
DeviceArray<T> make_b_there(const System& system, const Options& options, const std::vector<double>& root, Step& step) {
  const double began = now();
  DeviceArray<T> b;
  if constexpr (std::is_same_v<T, float>) {
    step.form = "single";
    b = b_in_single(system, root);
  } else if (options.products.precision == ProductPrecision::mgemm && !options.step3.automatic) {
    b = b_in_mixed_precision(system, options, root, step.form);
  } else {  // an automatic cutoff: as on the CPU
    step.form = "double";
    b = b_in_double(system, root);
  }
  cuda_backend().synchronize();
  step.seconds = now() - began;
  step.flops = 2.0 * double(system.pairs()) * double(system.auxiliary) * double(system.auxiliary);
  return b;
}

/// Orbital energies on the device.
struct Energies {
  explicit Energies(const System& system)
      : occupied(sent(system.eps_occupied, "the orbital energies")),
        virtuals(sent(system.eps_virtual, "the orbital energies")) {}
  DeviceArray<double> occupied, virtuals;
};

template <class T>
SpinSums sum_there(const System& system, const Energies& energies, const Batch<T>& batch) {
  const std::int64_t pairs = batch.count_i * batch.count_j;
  if (pairs > most_pairs || system.virtuals > most_virtuals) {
    throw Error(ErrorCode::unsupported,
                fmt::format("a batch of {} pairs of occupied orbitals and {} virtual ones: sums on a GPU do not count "
                            "that far",
                            pairs, system.virtuals));
  }
  const SpinSums sums = sum_integrals(DeviceBatch<T>{
      batch.integrals, energies.occupied.get() + batch.first_i, energies.occupied.get() + batch.first_j,
      energies.virtuals.get(), unsigned(batch.count_i), unsigned(batch.count_j), unsigned(system.virtuals)});
  const double times = batch.first_i == batch.first_j ? 1 : 2;
  return {times * sums.opposite, times * sums.same};
}

/// A block of integrals to be made: those of rows [row, row + rows) of B with rows [column, column + columns). `out` is
/// the transpose, by columns.
template <class T>
struct Block {
  std::int64_t row, rows, column, columns;
  DenseView<T> out;
};

/// Step 4 and the sums; multiply(block) asks for a block of integrals.
template <class T, class Multiply>
void sum_over_batches(const System& system, const Options& options, const Multiply& multiply, Energy& energy) {
  const std::int64_t v = system.virtuals, n = energy.batch * v;
  const auto memory = array<T>(n * n, "a batch of integrals");
  const Energies energies(system);
  for_each_batch<T>(system, options, memory.get(), energy.batch, [&](const Batch<T>& batch) {
    const std::int64_t rows = batch.count_i * v, columns = batch.count_j * v;
    const double began = now();
    multiply(
        Block<T>{batch.first_i * v, rows, batch.first_j * v, columns, {memory.get(), columns, rows, columns, false}});
    cuda_backend().synchronize();
    energy.step4.seconds += now() - began;
    energy.step4.flops += 2.0 * double(rows) * double(columns) * double(system.auxiliary);
    if (is_seen(options, batch)) {
      const std::vector<T> here = cuda::fetched(memory.get(), rows * columns);
      Batch<T> shown = batch;
      shown.integrals = here.data();
      show_batch(options, shown);
    }
    const double multiplied = now();
    const SpinSums sums = sum_there(system, energies, batch);
    energy.opposite_spin += sums.opposite;
    energy.same_spin += sums.same;
    energy.energy_seconds += now() - multiplied;
  });
}

template <class T>
void sum_in_one_precision(const System& system, const Options& options, const T* b, Energy& energy) {
  const std::int64_t n = system.auxiliary;
  sum_over_batches<T>(
      system, options,
      [&](const Block<T>& block) {
        mgemm::dense_product_on_device<T>(T(1), {b + block.column * n, block.columns, n, n, true},
                                          {b + block.row * n, n, block.rows, n, false}, T(0), block.out);
      },
      energy);
}

void sum_in_mixed_precision(const System& system, const Options& options, const double* b, Energy& energy) {
  const std::int64_t n = system.auxiliary;
  const double began = now();
  const DeviceSplitChoice choice = choose_split_on_device(system, b, options, energy.batch);
  energy.step4.form = choice.form;
  energy.step4.energy_error = choice.error;
  energy.step4.delta = choice.delta;
  if (!choice.split) {
    energy.step4.seconds += now() - began;
    return sum_in_one_precision(system, options, b, energy);
  }
  const DenseView<const double> all{b, system.pairs(), n, n, true};
  const mgemm::PreparedFactor left(all, mgemm::Side::left, choice.delta, choice.small_form);
  const mgemm::PreparedFactor right(all.transposed(), mgemm::Side::right, choice.delta, choice.small_form);
  cuda_backend().synchronize();
  energy.step4.seconds += now() - began;
  sum_over_batches<double>(
      system, options,
      [&](const Block<double>& block) {
        mgemm::multiply_prepared(1, {&left, block.column, block.columns}, {&right, block.row, block.rows}, 0, block.out,
                                 choice.depth);
      },
      energy);
}

bool in_single(const Options& options) { return options.products.precision == ProductPrecision::single; }

}  // namespace

void sum_on_device(const System& system, const Options& options, const std::vector<double>& root, Energy& energy) {
  if (in_single(options)) {
    energy.step4.form = "single";
    const DeviceArray<float> b = make_b_there<float>(system, options, root, energy.step3);
    return sum_in_one_precision(system, options, b.get(), energy);
  }
  const DeviceArray<double> b = make_b_there<double>(system, options, root, energy.step3);
  if (options.products.precision == ProductPrecision::mgemm) {
    return sum_in_mixed_precision(system, options, b.get(), energy);
  }
  energy.step4.form = "double";
  sum_in_one_precision(system, options, b.get(), energy);
}

std::vector<double> make_b_on_device(const System& system, const Options& options, const std::vector<double>& root,
                                     Step& step) {
  if (!in_single(options)) {
    const DeviceArray<double> b = make_b_there<double>(system, options, root, step);
    return cuda::fetched(b.get(), b.count());
  }
  const DeviceArray<float> b = make_b_there<float>(system, options, root, step);
  const std::vector<float> here = cuda::fetched(b.get(), b.count());
  return {here.begin(), here.end()};
}

template <class T>
SpinSums sum_batch_on_device(const System& system, const Batch<T>& batch) {
  return sum_there(system, Energies(system), batch);
}

template SpinSums sum_batch_on_device(const System&, const Batch<double>&);
template SpinSums sum_batch_on_device(const System&, const Batch<float>&);

}  // namespace quadrille::ri_mp2
