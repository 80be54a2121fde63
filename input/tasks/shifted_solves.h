// The task `shifted_solves`: (S^+ S + shift) x = b for many shifts at once, S the even-odd preconditioned operator:
// what rational approximations need.
#pragma once

#include "input/tasks/registry.h"

namespace quadrille {

TaskEntry shifted_solves_task();

}  // namespace quadrille
