#include "modules/block_dft/tasks/model_input.h"

#include "modules/block_dft/matrix/random_blocks.h"
#include "modules/block_dft/tasks/matrix_inputs.h"

namespace quadrille::block_dft {

BlockSizes model_sizes(const TaskContext& context) {
  const std::vector<std::int64_t> kinds = context.integers("model.block_sizes");
  return random_sizes(std::int32_t(context.integer("model.atoms")), {kinds.begin(), kinds.end()},
                      std::uint64_t(context.integer("model.seed")));
}

ModelOptions model_options(const TaskContext& context) {
  return {.sizes = model_sizes(context).on(grid_of(context)),
          .decay = context.real("model.decay"),
          .cutoff = context.real("model.cutoff"),
          .coupling = context.real("model.coupling"),
          .seed = std::uint64_t(context.integer("model.seed"))};
}

}  // namespace quadrille::block_dft
