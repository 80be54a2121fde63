// The driver layer: stacks of small products, done by the kernels of this folder, by libxsmm or by OpenBLAS.
#pragma once

#include "core/api.h"
#include "modules/block_dft/product/kernels.h"

#include <string>
#include <vector>

namespace quadrille::block_dft {

/// Products that are added to one block of C, in ascending k.
template <class T>
struct Run {
  T* c;  ///< m x n, row by row
  std::int32_t m, n;
  std::int64_t first, count;  ///< of ProductStack::factors
};

/// What the CSR layer hands over: no two runs of a stack have the same block of C. One more entry of `factors`, any
/// one, follows those of the runs.
template <class T>
struct ProductStack {
  std::vector<Factors<T>> factors;
  std::vector<Run<T>> runs;
  void clear() {
    factors.clear();
    runs.clear();
  }
};

/// `automatic`: own kernels, and OpenBLAS for products of blas_work multiply-adds and more. What a product is done by
/// depends on its size only.
enum class Driver { automatic, own, xsmm, blas };

std::string to_string(Driver driver);
/// Errors: ErrorCode::invalid_input for an unknown name, ErrorCode::unsupported for a driver that this build lacks.
QUADRILLE_API Driver driver_named(const std::string& name);
QUADRILLE_API bool has_xsmm();

constexpr std::int64_t blas_work = 96 * 96 * 96;

/// Adds the products of the stack. OpenBLAS must be set to one thread (mgemm::OneBlasThread). May be called from
/// several threads whose stacks share no block of C.
template <class T>
void multiply_stack(const ProductStack<T>& stack, Driver driver);

/// libxsmm; defined where the build has it.
template <class T>
void multiply_run_xsmm(const Factors<T>* factors, std::int64_t count, std::int32_t m, std::int32_t n, T* c);

}  // namespace quadrille::block_dft
