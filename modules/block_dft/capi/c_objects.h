// What stands behind the handles of c_api.h.
#pragma once

#include "core/comm/ranks.h"
#include "modules/block_dft/capi/c_api.h"
#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/handle_table.h"

#include <functional>
#include <memory>
#include <string>

namespace quadrille::block_dft {

/// The ranks of a host.
struct HostGrid {
  std::unique_ptr<Ranks> ranks;
  std::shared_ptr<const Communicator> all;
  std::shared_ptr<const MatrixGrid> grid;  ///< null for one rank
};

struct GridObject {
  static constexpr c_calls::Kind kind = c_calls::Kind::block_grid;
  std::shared_ptr<const HostGrid> home;
};

struct MatrixObject {
  static constexpr c_calls::Kind kind = c_calls::Kind::block_matrix;
  std::shared_ptr<const HostGrid> home;  // first: it ends last; null: one process
  BlockMatrix<double> matrix;
};

/// The ranks of a grid; null for a null handle: this process alone. Throws InvalidHandle.
std::shared_ptr<const HostGrid> home_of_grid(const quadrille_block_grid* grid);

quadrille_block_matrix* new_matrix(std::shared_ptr<const HostGrid> home, BlockMatrix<double> matrix);

/// Runs a C call and keeps the message of one that fails.
quadrille_status guarded(const char* name, const std::function<void()>& call) noexcept;

/// Runs `check` on all ranks of a grid, or on this process alone for null, before a collective call goes on: its text
/// is `call` on all of them.
void together(const HostGrid* home, const std::string& call, const std::function<void()>& check);

/// Throws unless these can be the sizes of blocks.
BlockSizes sizes_of(std::int32_t count, const std::int32_t* sizes, const char* name);

/// Of sizes and of a matrix, which may be null, for the text of a call: what must be the same on all ranks.
std::string sizes_text(std::int32_t count, const std::int32_t* sizes);
std::string matrix_text(const MatrixObject* matrix);

}  // namespace quadrille::block_dft
