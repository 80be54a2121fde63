// The products that a study compares, of one pair of matrices, wherever they are done.
#pragma once

#include "core/backend/backend.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/mgemm.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille::mgemm {

/// A and B are n x n, stored by columns. Each product is done when its call returns.
class ComparedProducts {
 public:
  virtual ~ComparedProducts() = default;

  virtual void dgemm() = 0;
  virtual void sgemm() = 0;  ///< of factors that are in single already
  /// Of cleaver, through the memory of the case.
  virtual CleaverReport panels() = 0;
  virtual MgemmReport mixed() = 0;
  /// What mgemm does before it multiplies.
  virtual void analyse() = 0;

  /// What the calls left: of dgemm, of sgemm, and of panels or mixed, whichever was called last. Each stays until it is
  /// requested again.
  virtual const std::vector<double>& of_dgemm() = 0;
  virtual const std::vector<float>& of_sgemm() = 0;
  virtual const std::vector<double>& of_module() = 0;
};

/// Matrices, and how mgemm multiplies them.
struct ComparedCase {
  std::int64_t n = 0;
  std::vector<double> a, b;
  Cutoff cutoff;
  MgemmOptions options;
  std::int64_t memory_cap = 0;  ///< of cleaver
};

/// On the GPU that one.options.backend is: operands in its memory, except those of `panels`, which pass through it from
/// the host's. Errors: ErrorCode::unsupported in a build without CUDA, and where memory runs out.
std::unique_ptr<ComparedProducts> products_on_device(ComparedCase one);

}  // namespace quadrille::mgemm
