// How many right-hand sides are solved for at once.
#pragma once

#include "core/parameters/parameters.h"
#include "solvers/driver.h"

#include <cstddef>
#include <optional>
#include <string>

namespace quadrille {

/// The parameter `batch`: a number, or auto. `what` is solved for.
Parameter batch_parameter(const std::string& what);
/// Its number; none of auto. ErrorCode::invalid_input with the place for one that is not whole.
std::optional<int> batch_of(const Parameters& parameters);

/// What is asked for, or of auto `most` on a GPU and one on a CPU, as far as memory suffices and as many are `left`;
/// one at least. The same on all ranks, collective. x and b of each are counted, too; `kept`: bytes of the backend's
/// memory that will be needed besides. `who` says in the log what they take.
int solved_at_once(const std::string& who, const SystemSolver& solver, const FieldDesc& full, std::optional<int> asked,
                   int most, int left, std::size_t kept);

}  // namespace quadrille
