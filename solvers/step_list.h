// The fused passes of all solvers: to add those of one more, include its header and append its list.
#pragma once

#include "solvers/methods/bicgstab_steps.h"
#include "solvers/methods/cg_steps.h"
#include "solvers/methods/mr_steps.h"

namespace quadrille::steps::inline QUADRILLE_ISA {

using Steps = Joined<BicgstabSteps, CgSteps, MrSteps>;

}  // namespace quadrille::steps::inline QUADRILLE_ISA
