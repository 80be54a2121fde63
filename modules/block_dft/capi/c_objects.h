// What stands behind the handles of c_api.h.
#pragma once

#include "core/comm/ranks.h"
#include "modules/block_dft/capi/c_api.h"
#include "modules/block_dft/matrix/block_matrix.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/handle_table.h"

#include <functional>
#include <initializer_list>
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

/// A matrix of a collective call. Where the handle of one rank is wrong, the others must hear of it: it is looked up at
/// once, and what is wrong is said by check().
class Given {
 public:
  Given(const quadrille_block_matrix* handle, const char* name)
      : handle_(handle), name_(name), object_(c_calls::find_if_valid<MatrixObject>(handle)) {}
  void check() const {
    if (!object_) (void)c_calls::find<MatrixObject>(handle_, name_);
  }
  const MatrixObject* object() const { return object_.get(); }
  BlockMatrix<double>& matrix() const { return object_->matrix; }
  const std::shared_ptr<const HostGrid>& home() const { return object_->home; }

 private:
  const quadrille_block_matrix* handle_;
  const char* name_;
  std::shared_ptr<MatrixObject> object_;
};

/// The grid of any of them; null where all are on this process alone.
const HostGrid* home_of(std::initializer_list<const Given*> matrices);

/// For a result that is written, but is not what it should be.
quadrille_status keep_message(quadrille_status status, const char* name, const std::string& message) noexcept;

/// Throws unless these can be the sizes of blocks.
BlockSizes sizes_of(std::int32_t count, const std::int32_t* sizes, const char* name);

/// Of sizes and of a matrix, which may be null, for the text of a call: what must be the same on all ranks.
std::string sizes_text(std::int32_t count, const std::int32_t* sizes);
std::string matrix_text(const MatrixObject* matrix);

}  // namespace quadrille::block_dft
