// Handles of the C calls for block-sparse matrices.
#pragma once

#include "modules/block_dft/capi/c_api.h"
#include "modules/block_dft/matrix/block_matrix.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace quadrille::block_dft::testing {

using Handle = std::unique_ptr<quadrille_block_matrix, decltype(&quadrille_block_matrix_destroy)>;

/// A matrix of the C calls with the blocks of A.
inline Handle handle_of(const BlockMatrix<double>& a) {
  quadrille_block_matrix* made = nullptr;
  EXPECT_EQ(quadrille_block_matrix_create(a.rows().count(), a.rows().sizes().data(), a.columns().count(),
                                          a.columns().sizes().data(), int(a.symmetry()), &made),
            QUADRILLE_DONE);
  std::vector<std::int32_t> places;
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t) { places.insert(places.end(), {i, j}); });
  EXPECT_EQ(quadrille_block_matrix_reserve(made, a.block_count(), places.data()), QUADRILLE_DONE);
  a.for_each([&](std::int32_t i, std::int32_t j, std::int64_t slot) {
    EXPECT_EQ(quadrille_block_matrix_put(made, i, j, a.block(slot), 0), QUADRILLE_DONE);
  });
  return {made, quadrille_block_matrix_destroy};
}

}  // namespace quadrille::block_dft::testing
