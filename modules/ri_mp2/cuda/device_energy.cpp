// The sums on a GPU, and what brings steps 3 and 4 to them.
#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/device_array.h"
#include "modules/mgemm/product/cuda/device_product.h"
#include "modules/ri_mp2/batches.h"
#include "modules/ri_mp2/cuda/arrays.h"
#include "modules/ri_mp2/cuda/device_step3.h"
#include "modules/ri_mp2/cuda/device_step4.h"
#include "modules/ri_mp2/cuda/device_sums.h"
#include "modules/ri_mp2/device.h"

namespace quadrille::ri_mp2 {
namespace {

using cuda::DeviceArray;
using mgemm::ProductPrecision;

/// A block of integrals to be made: those of rows [row, row + rows) of B with rows [column, column + columns). `out` is
/// the transpose, by columns.
template <class T>
struct Block {
  std::int64_t row, rows, column, columns;
  DenseView<T> out;
};

/// Step 4 and the sums; multiply(block) asks for a block of integrals.
template <class T, class Multiply>
void sum_batches_there(const System& system, const Options& options, const Multiply& multiply, Energy& energy) {
  const std::int64_t v = system.virtuals, n = energy.batch * v;
  const auto memory = array<T>(n * n, "a batch of integrals");
  const Energies energies(system);
  sum_over_batches<T>(
      system, options, memory.get(),
      [&](const Batch<T>& batch) {
        const std::int64_t rows = batch.count_i * v, columns = batch.count_j * v;
        multiply(Block<T>{
            batch.first_i * v, rows, batch.first_j * v, columns, {memory.get(), columns, rows, columns, false}});
        cuda_backend().synchronize();
      },
      [&](const Batch<T>& batch) { show_there(system, options, batch); },
      [&](const Batch<T>& batch) { return sum_there(system, energies, batch); }, energy);
}

template <class T>
void sum_in_one_precision(const System& system, const Options& options, const T* b, Energy& energy) {
  const std::int64_t n = system.auxiliary;
  sum_batches_there<T>(
      system, options,
      [&](const Block<T>& block) {
        mgemm::dense_product_on_device<T>(T(1), {b + block.column * n, block.columns, n, n, true},
                                          {b + block.row * n, n, block.rows, n, false}, T(0), block.out);
      },
      energy);
}

/// `b` is made anew where its errors are too large for the target.
void sum_in_mixed_precision(const System& system, const Options& options, const std::vector<double>& root,
                            DeviceArray<double>& b, const Step3Errors& errors, Energy& energy) {
  const std::int64_t n = system.auxiliary;
  const SplitChoice choice = split_within_target(
      options, errors,
      [&](const Step3Errors& of_b) {
        return choose_split_on_device(system, root, b.get(), of_b, options, energy.batch);
      },
      [&] {
        b.reset();  // its memory is needed
        Step3Errors none;
        b = make_b_there(system, with_step3_in_double(options), root, energy.step3, none);
      },
      energy);
  if (!choice.split) return sum_in_one_precision<double>(system, options, b.get(), energy);
  const double began = now();
  const DenseView<const double> all{b.get(), system.pairs(), n, n, true};
  const DenseView<const double> turned = all.transposed();
  mgemm::SplitFactors factors(mgemm::traits_of(choice.small_form), choice.delta);
  factors.load(&all, &turned);
  cuda_backend().synchronize();
  energy.step4.seconds += now() - began;
  sum_batches_there<double>(
      system, options,
      [&](const Block<double>& block) {
        mgemm::multiply_converted(1, {&factors.a(), block.column, block.columns}, {&factors.b(), block.row, block.rows},
                                  0, block.out, choice.depth);
      },
      energy);
}

bool in_single(const Options& options) { return options.products.precision == ProductPrecision::single; }

}  // namespace

void sum_on_device(const System& system, const Options& options, const std::vector<double>& root, Energy& energy) {
  if (in_single(options)) {
    energy.step4.form = "single";
    const DeviceArray<float> b = make_single_b_there(system, root, energy.step3);
    return sum_in_one_precision<float>(system, options, b.get(), energy);
  }
  Step3Errors errors;
  DeviceArray<double> b = make_b_there(system, options, root, energy.step3, errors);
  if (options.products.precision == ProductPrecision::mgemm) {
    return sum_in_mixed_precision(system, options, root, b, errors, energy);
  }
  energy.step4.form = "double";
  sum_in_one_precision<double>(system, options, b.get(), energy);
}

std::vector<double> make_b_on_device(const System& system, const Options& options, const std::vector<double>& root,
                                     Step& step) {
  if (!in_single(options)) {
    Step3Errors ignored;
    const DeviceArray<double> b = make_b_there(system, options, root, step, ignored);
    return cuda::fetched(b.get(), b.count());
  }
  const DeviceArray<float> b = make_single_b_there(system, root, step);
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
