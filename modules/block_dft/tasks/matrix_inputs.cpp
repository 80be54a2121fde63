#include "modules/block_dft/tasks/matrix_inputs.h"

#include "core/backend/of_backend.h"
#include "modules/block_dft/files/matrix_files.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

namespace quadrille::block_dft {

namespace {

/// The rows of a matrix, by the name of its parameter; none where they are not known.
using RowsOf = std::function<std::optional<std::int64_t>(const std::string&)>;

std::unique_ptr<ElementSource> opened(const TaskContext& context, const std::string& name) {
  return elements_of_file(context.input_file(name + ".file"), context.text(name + ".dataset"));
}

/// None where `blocks` has no file, and the rows of the first matrix are not known.
std::optional<BlockSizes> sizes_of(const TaskContext& context, const MatrixNames& names, const RowsOf& rows_of) {
  if (context.has("blocks.file")) return read_block_sizes(context.input_file("blocks.file"));
  const std::optional<std::int64_t> n = rows_of(names.front());
  if (!n) return std::nullopt;
  const std::int64_t size = context.has("blocks.size") ? context.integer("blocks.size") : matrix_input::block_size;
  std::vector<std::int32_t> sizes(std::size_t(*n / size), std::int32_t(size));
  if (*n % size != 0) sizes.push_back(std::int32_t(*n % size));
  return BlockSizes(std::move(sizes));
}

std::optional<BlockSizes> checked_sizes(const TaskContext& context, const MatrixNames& names, const RowsOf& rows_of) {
  std::optional<BlockSizes> sizes = sizes_of(context, names, rows_of);
  if (!sizes) return sizes;
  for (const std::string& name : names) {
    if (!context.has(name + ".file")) continue;
    const std::optional<std::int64_t> n = rows_of(name);
    if (!n || *n == sizes->total()) continue;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("has {} rows, but the {} blocks have {}", *n, sizes->count(), sizes->total()),
                      name + ".file");
  }
  return sizes;
}

}  // namespace

std::shared_ptr<const MatrixGrid> grid_of(const TaskContext& context) {
  if (!context.has("grid.rows")) return MatrixGrid::over(context.ranks());
  try {
    return MatrixGrid::over(context.ranks(), int(context.integer("grid.rows")), int(context.integer("grid.columns")));
  } catch (const Error& error) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, error.message(), "grid");
  }
}

std::optional<BlockSizes> check_matrices(const TaskContext& context, const MatrixNames& names) {
  return checked_sizes(context, names, [&](const std::string& name) { return opened(context, name)->size_in_head(); });
}

void check_hamiltonian(const TaskContext& context) {
  const std::optional<BlockSizes> sizes = check_matrices(context, hamiltonian_and_overlap);
  if (sizes) check_electrons(context, *sizes);
}

InputMatrices::InputMatrices(const TaskContext& context, const MatrixNames& names) : context_(context) {
  const auto read_sizes = [&] {
    for (const std::string& name : names) {
      if (context.has(name + ".file")) sources_[name] = opened(context, name);
    }
    return checked_sizes(context, names, [&](const std::string& name) { return sources_.at(name)->size(); })->sizes();
  };
  sizes_ = BlockSizes(of_first_rank<std::int32_t>(context, read_sizes), grid_of(context));
}

BlockMatrix<double> InputMatrices::read(const std::string& name) {
  if (!context_.has(name + ".file")) return identity<double>(sizes_);
  StreamBuffer buffer;
  const auto source = std::move(sources_[name]);
  return symmetric_of_elements(source.get(), sizes_, context_.input_file(name + ".file"), buffer);
}

void check_electrons(const TaskContext& context, const BlockSizes& sizes) {
  if (!context.has("electrons")) return;
  const double electrons = context.real("electrons");
  try {
    require_whole_electrons(electrons);
  } catch (const Error& error) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, error.message(), "electrons");
  }
  if (electrons < double(sizes.total())) return;
  TaskContext::fail(QUADRILLE_INVALID_INPUT,
                    fmt::format("must be less than the number of orbitals, {}: each holds one", sizes.total()),
                    "electrons");
}

bool on_gpu(const TaskContext& context) { return context.backend() == "cuda"; }

void check_dense_memory(const TaskContext& context, const BlockSizes& sizes) {
  if (context.text("method") != "dense" && !context.boolean("compare")) return;
  on_first_rank(context.ranks(), [&] {
    if (!on_gpu(context)) return require_dense_memory(sizes.total());
    with_cuda([&](auto) { require_dense_memory_on_device(sizes.total()); });
  });
}

FunctionOptions function_options(const TaskContext& context) {
  FunctionOptions options;
  options.eps = context.real("eps");
  if (context.has("order")) options.order = int(context.integer("order"));
  options.mixed = context.boolean("mixed");
  if (context.has("max_iterations")) options.max_iterations = int(context.integer("max_iterations"));
  return options;
}

double iteration_fraction(double residual, double eps) {
  if (!(residual > 0 && residual < 1)) return 0;
  return std::min(1.0, std::log(residual) / std::log(std::sqrt(eps)));
}

}  // namespace quadrille::block_dft
