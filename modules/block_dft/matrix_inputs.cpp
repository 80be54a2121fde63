#include "modules/block_dft/matrix_inputs.h"

#include "modules/block_dft/block_algebra.h"
#include "modules/block_dft/matrix_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille::block_dft {

BlockSizes sizes_of(const TaskContext& context) {
  if (context.has("blocks.file")) return read_block_sizes(context.input_file("blocks.file"));
  const std::int64_t n = read_matrix_size(context.input_file("hamiltonian.file"), context.text("hamiltonian.dataset"));
  const std::int64_t size = context.has("blocks.size") ? context.integer("blocks.size") : matrix_input::block_size;
  std::vector<std::int32_t> sizes(std::size_t(n / size), std::int32_t(size));
  if (n % size != 0) sizes.push_back(std::int32_t(n % size));
  return BlockSizes(std::move(sizes));
}

std::shared_ptr<const MatrixGrid> grid_of(const TaskContext& context) {
  if (!context.has("grid.rows")) return MatrixGrid::over(context.ranks());
  try {
    return MatrixGrid::over(context.ranks(), int(context.integer("grid.rows")), int(context.integer("grid.columns")));
  } catch (const Error& error) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, error.message(), "grid");
  }
}

BlockSizes shared_sizes(const TaskContext& context) {
  return BlockSizes(of_first_rank<std::int32_t>(context, [&] { return sizes_of(context).sizes(); }), grid_of(context));
}

BlockMatrix<double> matrix_of(const TaskContext& context, const std::string& name, const BlockSizes& sizes) {
  if (!context.has(name + ".file")) return identity<double>(sizes);
  return read_symmetric(context.input_file(name + ".file"), context.text(name + ".dataset"), sizes);
}

void check_matrices(const TaskContext& context, const BlockSizes& sizes) {
  for (const std::string name : {"hamiltonian", "overlap"}) {
    if (!context.has(name + ".file")) continue;
    const std::int64_t n = read_matrix_size(context.input_file(name + ".file"), context.text(name + ".dataset"));
    if (n == sizes.total()) continue;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("has {} rows, but the {} blocks have {}", n, sizes.count(), sizes.total()),
                      name + ".file");
  }
}

void check_electrons(const TaskContext& context, const BlockSizes& sizes) {
  if (!context.has("electrons") || context.real("electrons") < double(sizes.total())) return;
  TaskContext::fail(QUADRILLE_INVALID_INPUT,
                    fmt::format("must be less than the number of orbitals, {}: each holds one", sizes.total()),
                    "electrons");
}

bool on_gpu(const TaskContext& context) { return context.backend() == "cuda"; }

void check_dense_memory(const TaskContext& context, const BlockSizes& sizes) {
  if (context.text("method") != "dense" && !context.boolean("compare")) return;
  on_first_rank(context.ranks(), [&] {
    on_gpu(context) ? require_dense_memory_on_device(sizes.total()) : require_dense_memory(sizes.total());
  });
}

FunctionOptions function_options(const TaskContext& context) {
  FunctionOptions options;
  options.eps = context.real("eps");
  options.order = int(context.integer("order"));
  options.mixed = context.boolean("mixed");
  options.max_iterations = int(context.integer("max_iterations"));
  return options;
}

double iteration_fraction(double residual, double eps) {
  if (!(residual > 0 && residual < 1)) return 0;
  return std::min(1.0, std::log(residual) / std::log(std::sqrt(eps)));
}

}  // namespace quadrille::block_dft
