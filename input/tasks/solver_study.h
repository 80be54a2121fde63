// The task `solver_study`: the same systems solved in many ways, compared. Tables 3 to 5 and figure 7 of M. A. Clark et
// al., Comput. Phys. Commun. 181 (2010) 1517, arXiv:0911.3191.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry solver_study_task();

}  // namespace quadrille
