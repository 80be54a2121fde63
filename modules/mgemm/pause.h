// Where a long product lets its caller do something else, or ends.
#pragma once

#include <functional>

namespace quadrille::mgemm {

/// Called between the parts of a product, by the thread that asked for it, where it is not empty. What it throws ends
/// the product; C then holds anything.
using Pause = std::function<void()>;

}  // namespace quadrille::mgemm
