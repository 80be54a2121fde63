// What mixed precision gains and loses on one product of salted matrices: speed against OpenBLAS, or cuBLAS, and errors
// against double (figures 1 and 2 of the papers of mgemm.h).
#pragma once

#include "modules/mgemm/product/mgemm.h"
#include "modules/mgemm/tasks/salted_matrix.h"

#include <cstdint>
#include <string>
#include <vector>

namespace quadrille::mgemm {

struct ProductCase {
  std::int64_t n = 0;  ///< A and B are n x n; stored by columns, of the streams 0 and 1 of the seed
  Salt salt{};
  std::uint64_t seed = 0;
};

struct ProductStudyOptions {
  Cutoff cutoff = Cutoff::at(1);
  bool always_split = true;     ///< MgemmOptions
  int repeats = 3;              ///< times that each product is timed
  std::int64_t memory_cap = 0;  ///< CleaverOptions
  Backend* backend = nullptr;   ///< who multiplies: the CPU where null
};

/// One way to multiply. Errors are the largest and the root mean square of all elements' differences from dgemm's,
/// whose own errors are smaller by a factor of the order of 2^29: nothing beside those of single precision.
struct ProductMeasurement {
  std::string product;  ///< "dgemm", "sgemm": OpenBLAS with all threads, sgemm of factors that are in single already;
                        ///< "cleaver", "mgemm": those of this module, in double, from the call to its return. On a GPU
                        ///< operands are in its memory, and dgemm and sgemm are cuBLAS's; only those of cleaver are in
                        ///< the host's
  double seconds = 0;   ///< the median
  double max_error = 0, rms_error = 0;
  std::int64_t panel_bytes = 0;  ///< of cleaver: taken by its panels
  MgemmReport report{};          ///< of mgemm
  double analysis_seconds = 0;   ///< of mgemm: checking the elements, counting large ones, choosing the form
};

/// dgemm, sgemm, cleaver and mgemm, in this order; they take turns while they are timed. `with_module` leaves out the
/// last two when false. Takes 44 n^2 bytes, and what mgemm takes; on a GPU of its memory, and nearly as much here.
QUADRILLE_API std::vector<ProductMeasurement> measure_products(const ProductCase& one,
                                                               const ProductStudyOptions& options, bool with_module);

}  // namespace quadrille::mgemm
