#include "modules/block_dft/capi/c_api.h"

#include "core/error.h"
#include "modules/block_dft/capi/c_objects.h"
#include "modules/block_dft/functions/density.h"
#include "modules/block_dft/matrix/block_algebra.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <limits>
#include <new>
#include <span>
#include <string>
#include <string_view>

namespace {

namespace block_dft = quadrille::block_dft;
using block_dft::BlockPlace;
using block_dft::BlockSizes;
using block_dft::Given;
using block_dft::guarded;
using block_dft::home_of;
using block_dft::keep_message;
using block_dft::matrix_text;
using block_dft::MatrixObject;
using block_dft::sizes_of;
using block_dft::sizes_text;
using block_dft::together;
using quadrille::c_calls::demand;
using quadrille::c_calls::find;
using quadrille::c_calls::refuse;

thread_local std::string last_message;

block_dft::Transpose transpose_of(char letter, const char* name) {
  if (letter == 'N' || letter == 'n') return block_dft::Transpose::no;
  if (letter == 'T' || letter == 't') return block_dft::Transpose::yes;
  refuse(std::string(name) + " = '" + letter + "': it must be N or T");
}

std::size_t numbers(const block_dft::BlockMatrix<double>& a, std::int32_t row, std::int32_t column) {
  if (row < 0 || row >= a.rows().count() || column < 0 || column >= a.columns().count()) {
    refuse("block (" + std::to_string(row) + ", " + std::to_string(column) + ") is outside the matrix");
  }
  return std::size_t(a.rows().size(row)) * std::size_t(a.columns().size(column));
}

/// Of the elements of block (row, column), row by row.
void require_finite(std::span<const double> block, std::int32_t columns, std::int32_t row, std::int32_t column) {
  for (std::size_t k = 0; k < block.size(); ++k) {
    if (std::isfinite(block[k])) continue;
    throw quadrille::Error(quadrille::ErrorCode::numerical,
                           fmt::format("element ({}, {}) of block ({}, {}) is {}: it must be finite",
                                       std::int64_t(k) / columns, std::int64_t(k) % columns, row, column, block[k]));
  }
}

/// As much of the report as the caller's version of the struct has.
void fill(quadrille_block_report* to, const block_dft::MultiplyReport& from) {
  if (to == nullptr) return;
  const quadrille_block_report all{to->struct_size,      0,          from.products, from.skipped,
                                   from.filtered_blocks, from.flops, from.bound,    from.seconds};
  std::memcpy(to, &all, to->struct_size);
}

void check(const quadrille_block_report* report) {
  if (report == nullptr || (report->struct_size >= 8 && report->struct_size <= sizeof *report)) return;
  refuse("report: struct_size = " + std::to_string(report->struct_size) + ": it must be the size of the struct, " +
         std::to_string(sizeof *report) + " in this version");
}

}  // namespace

namespace quadrille::block_dft {

quadrille_status guarded(const char* name, const std::function<void()>& call) noexcept {
  return c_calls::guarded(last_message, name, call);
}

quadrille_status keep_message(quadrille_status status, const char* name, const std::string& message) noexcept {
  try {
    last_message = std::string(name) + ": " + message;
  } catch (const std::bad_alloc&) {
    last_message.clear();
  }
  return status;
}

const HostGrid* home_of(std::initializer_list<const Given*> matrices) {
  for (const Given* matrix : matrices) {
    if (matrix->object() != nullptr && matrix->home()) return matrix->home().get();
  }
  return nullptr;
}

void together(const HostGrid* home, const std::string& call, const std::function<void()>& check) {
  if (home == nullptr) return check();
  c_calls::together(home->ranks.get(), *home->all, call,
                    "the ranks of a grid must make the same calls in the same order, with the same arguments", check);
}

BlockSizes sizes_of(std::int32_t count, const std::int32_t* sizes, const char* name) {
  if (count < 0) refuse(std::string(name) + ": the number of blocks must not be negative");
  if (count > 0) demand(sizes, name);
  return BlockSizes({sizes, sizes + count});
}

std::string sizes_text(std::int32_t count, const std::int32_t* sizes) {
  if (count < 0 || sizes == nullptr) return fmt::format("{} blocks", count);
  const std::string_view bytes(reinterpret_cast<const char*>(sizes), std::size_t(count) * sizeof *sizes);
  return fmt::format("{} blocks of sizes with the hash {:016x}", count, std::hash<std::string_view>()(bytes));
}

std::string matrix_text(const MatrixObject* matrix) {
  if (matrix == nullptr) return "no matrix";
  const BlockMatrix<double>& a = matrix->matrix;
  const auto blocks = [](const BlockSizes& sizes) { return sizes_text(sizes.count(), sizes.sizes().data()); };
  const std::string place = a.grid() ? fmt::format("{} x {} ranks", a.grid()->rows(), a.grid()->columns()) : "one rank";
  return fmt::format("a matrix on {} with rows in {}, columns in {} and symmetry {}", place, blocks(a.rows()),
                     blocks(a.columns()), int(a.symmetry()));
}

std::shared_ptr<const HostGrid> home_of_grid(const quadrille_block_grid* grid) {
  return grid == nullptr ? nullptr : find<GridObject>(grid, "grid")->home;
}

quadrille_block_matrix* new_matrix(std::shared_ptr<const HostGrid> home, BlockMatrix<double> matrix) {
  return c_calls::handle_of<quadrille_block_matrix>(
      std::make_shared<MatrixObject>(MatrixObject{std::move(home), std::move(matrix)}));
}

}  // namespace quadrille::block_dft

extern "C" {

quadrille_status quadrille_block_matrix_create_on(const quadrille_block_grid* grid, int32_t block_rows,
                                                  const int32_t* row_sizes, int32_t block_columns,
                                                  const int32_t* column_sizes, int32_t symmetry,
                                                  quadrille_block_matrix** matrix) {
  return guarded(grid == nullptr ? "quadrille_block_matrix_create" : "quadrille_block_matrix_create_on", [&] {
    const auto home = block_dft::home_of_grid(grid);
    const auto make = [&] {
      demand(matrix, "matrix");
      if (symmetry < QUADRILLE_BLOCK_GENERAL || symmetry > QUADRILLE_BLOCK_ANTISYMMETRIC) {
        refuse("symmetry = " + std::to_string(symmetry) + ": it must be 0, 1 or 2");
      }
      const auto on = home == nullptr ? nullptr : home->grid;
      return block_dft::BlockMatrix<double>(sizes_of(block_rows, row_sizes, "row_sizes").on(on),
                                            sizes_of(block_columns, column_sizes, "column_sizes").on(on),
                                            block_dft::Symmetry(symmetry));
    };
    together(home.get(),
             fmt::format("quadrille_block_matrix_create_on with {}, {} and symmetry {}",
                         sizes_text(block_rows, row_sizes), sizes_text(block_columns, column_sizes), symmetry),
             [&] { make(); });
    *matrix = block_dft::new_matrix(home, make());
  });
}

quadrille_status quadrille_block_matrix_create(int32_t block_rows, const int32_t* row_sizes, int32_t block_columns,
                                               const int32_t* column_sizes, int32_t symmetry,
                                               quadrille_block_matrix** matrix) {
  return quadrille_block_matrix_create_on(nullptr, block_rows, row_sizes, block_columns, column_sizes, symmetry,
                                          matrix);
}

quadrille_status quadrille_block_matrix_owner(const quadrille_block_matrix* handle, int32_t row, int32_t column,
                                              int32_t* rank) {
  return guarded("quadrille_block_matrix_owner", [&] {
    const auto matrix = find<MatrixObject>(handle, "matrix");
    demand(rank, "rank");
    (void)numbers(matrix->matrix, row, column);
    const bool mirrored = matrix->matrix.symmetry() != block_dft::Symmetry::none && row > column;
    *rank = mirrored ? matrix->matrix.owner(column, row) : matrix->matrix.owner(row, column);
  });
}

void quadrille_block_matrix_destroy(quadrille_block_matrix* matrix) {
  quadrille::c_calls::destroy_if_valid<MatrixObject>(matrix);
}

quadrille_status quadrille_block_matrix_reserve(quadrille_block_matrix* handle, int64_t count, const int32_t* places) {
  return guarded("quadrille_block_matrix_reserve", [&] {
    const auto matrix = find<MatrixObject>(handle, "matrix");
    const std::int64_t most = std::int64_t(matrix->matrix.rows().count()) * matrix->matrix.columns().count();
    if (count < 0 || count > most) {
      refuse(fmt::format("count = {}: the matrix has {} blocks, and a place is given once at most", count, most));
    }
    if (count > 0) demand(places, "places");
    std::vector<BlockPlace> all;
    for (int64_t k = 0; k < count; ++k) all.push_back({places[2 * k], places[2 * k + 1]});
    matrix->matrix.reserve(all);
  });
}

quadrille_status quadrille_block_matrix_put(quadrille_block_matrix* handle, int32_t row, int32_t column,
                                            const double* block, int32_t add) {
  return guarded("quadrille_block_matrix_put", [&] {
    const auto matrix = find<MatrixObject>(handle, "matrix");
    demand(block, "block");
    const std::span<const double> given(block, numbers(matrix->matrix, row, column));
    require_finite(given, matrix->matrix.columns().size(column), row, column);
    matrix->matrix.put(row, column, given, add != 0);
  });
}

quadrille_status quadrille_block_matrix_get(const quadrille_block_matrix* handle, int32_t row, int32_t column,
                                            double* block, int32_t* found) {
  return guarded("quadrille_block_matrix_get", [&] {
    const auto matrix = find<MatrixObject>(handle, "matrix");
    demand(block, "block");
    const std::vector<double> stored = matrix->matrix.get(row, column);
    std::fill_n(block, numbers(matrix->matrix, row, column), 0.0);
    std::copy(stored.begin(), stored.end(), block);
    if (found != nullptr) *found = !stored.empty();
  });
}

quadrille_status quadrille_block_matrix_export(const quadrille_block_matrix* handle, int64_t* blocks, int64_t* count,
                                               int32_t* places, double* data) {
  return guarded("quadrille_block_matrix_export", [&] {
    const auto matrix = find<MatrixObject>(handle, "matrix");
    const auto& a = matrix->matrix;
    if (blocks != nullptr) *blocks = a.block_count();
    if (count != nullptr) *count = a.stored();
    a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
      if (places != nullptr) {
        *places++ = i;
        *places++ = j;
      }
      if (data != nullptr) data = std::copy_n(a.block(slot), numbers(a, i, j), data);
    });
  });
}

quadrille_status quadrille_block_multiply(char trans_a, char trans_b, double alpha,
                                          const quadrille_block_matrix* a_handle,
                                          const quadrille_block_matrix* b_handle, double beta,
                                          quadrille_block_matrix* c_handle, double eps, int32_t retain_sparsity,
                                          quadrille_block_report* report) {
  return guarded("quadrille_block_multiply", [&] {
    const Given a(a_handle, "a"), b(b_handle, "b"), c(c_handle, "c");
    block_dft::Transpose op_a{}, op_b{};
    together(home_of({&a, &b, &c}),
             fmt::format("quadrille_block_multiply('{}', '{}', {}, A, B, {}, C, {}, {}) with A {}, B {} and C {}",
                         trans_a, trans_b, alpha, beta, eps, retain_sparsity, matrix_text(a.object()),
                         matrix_text(b.object()), matrix_text(c.object())),
             [&] {
               for (const Given* one : {&a, &b, &c}) one->check();
               check(report);
               op_a = transpose_of(trans_a, "trans_a");
               op_b = transpose_of(trans_b, "trans_b");
             });
    fill(report, block_dft::multiply(alpha, op_a, a.matrix(), op_b, b.matrix(), beta, c.matrix(),
                                     {.eps = eps, .retain_sparsity = retain_sparsity != 0}));
  });
}

quadrille_status quadrille_block_density(const quadrille_block_matrix* h_handle, const quadrille_block_matrix* s_handle,
                                         const char* method, double electrons, double* mu, double eps,
                                         quadrille_block_matrix** p, double* energy, int32_t* converged) {
  std::string doubt;
  quadrille_status doubtful = QUADRILLE_DONE;
  const quadrille_status status = guarded("quadrille_block_density", [&] {
    const Given h(h_handle, "h"), s(s_handle, "s");
    const bool orthogonal = s_handle == nullptr;
    block_dft::DensityOptions options;
    options.function.eps = eps;
    const auto read = [&] {
      h.check();
      if (!orthogonal) s.check();
      demand(method, "method");
      demand(p, "p");
      options.method = block_dft::density_method_named(method);
      if (electrons > 0 || std::isnan(electrons)) {
        options.electrons = electrons;
      } else {
        demand(mu, "mu");
        options.mu = *mu;
      }
    };
    together(home_of({&h, &s}),
             fmt::format("quadrille_block_density with {}, {} electrons, mu = {}, eps = {}, H {} and S {}",
                         method == nullptr ? "" : method, electrons, electrons > 0 || mu == nullptr ? 0 : *mu, eps,
                         matrix_text(h.object()), orthogonal ? "the identity" : matrix_text(s.object())),
             read);
    block_dft::BlockMatrix<double> identity;
    if (orthogonal) identity = block_dft::identity<double>(h.matrix().rows());
    const block_dft::BlockMatrix<double>& overlap = orthogonal ? identity : s.matrix();
    block_dft::Density density = block_dft::density_matrix(h.matrix(), overlap, options);
    if (mu != nullptr) *mu = density.mu.value_or(std::numeric_limits<double>::quiet_NaN());
    if (energy != nullptr) *energy = density.energy;
    if (converged != nullptr) *converged = density.converged;
    if (!density.converged) {
      doubtful = QUADRILLE_NOT_CONVERGED;
      doubt = block_dft::not_converged_text(density);
    } else {
      doubt = block_dft::doubts_of(density, options, block_dft::idempotency(density.p, overlap, eps));
      if (!doubt.empty()) doubtful = QUADRILLE_INACCURATE;
    }
    *p = block_dft::new_matrix(h.home(), std::move(density.p));
  });
  if (status != QUADRILLE_DONE || doubtful == QUADRILLE_DONE) return status;
  return keep_message(doubtful, "quadrille_block_density", doubt);
}

quadrille_status quadrille_block_density_check(const quadrille_block_matrix* p_handle,
                                               const quadrille_block_matrix* h_handle,
                                               const quadrille_block_matrix* s_handle, double eps, double* electrons,
                                               double* idempotency, double* commutation) {
  return guarded("quadrille_block_density_check", [&] {
    const Given p(p_handle, "p"), h(h_handle, "h"), s(s_handle, "s");
    const bool orthogonal = s_handle == nullptr;
    together(
        home_of({&p, &h, &s}),
        fmt::format("quadrille_block_density_check with eps = {}, P {}, H {} and S {}", eps, matrix_text(p.object()),
                    matrix_text(h.object()), orthogonal ? "the identity" : matrix_text(s.object())),
        [&] {
          p.check();
          h.check();
          if (!orthogonal) s.check();
          if (!(eps >= 0)) refuse(fmt::format("eps = {}: it must not be negative", eps));
        });
    block_dft::BlockMatrix<double> identity;
    if (orthogonal) identity = block_dft::identity<double>(p.matrix().rows());
    const block_dft::BlockMatrix<double>& overlap = orthogonal ? identity : s.matrix();
    const block_dft::DensityCheck check = block_dft::check_density(p.matrix(), h.matrix(), overlap, eps);
    const double count = block_dft::dot(p.matrix(), overlap);
    if (electrons != nullptr) *electrons = count;
    if (idempotency != nullptr) *idempotency = check.idempotency;
    if (commutation != nullptr) *commutation = check.commutation;
  });
}

const char* quadrille_block_message(void) { return last_message.c_str(); }

}  // extern "C"
