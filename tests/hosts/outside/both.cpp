// The headers of hosts and of modules agree with each other, in either order.
#include "modules/shared/plugin/module.h"
#include "modules/shared/plugin/task.h"
#include "quadrille.hpp"

quadrille_status both(const quadrille_gauge* of_a_module, quadrille_gauge* of_a_host);
quadrille_status both(const quadrille_gauge* of_a_module, quadrille_gauge* of_a_host) {
  return of_a_module == of_a_host ? QUADRILLE_DONE : QUADRILLE_FAILED;
}
