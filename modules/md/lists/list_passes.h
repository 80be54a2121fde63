// Passes over neighbour lists until their sums fit the scales of fixed point.
#pragma once

#include "modules/md/lists/list_engine.h"

namespace quadrille::md {

class ListPasses {
 public:
  /// The engine is one of this system (from system_of_lists()) and these options.
  ListPasses(const System& system, const ListOptions& options, ListEngine& engine)
      : system_(system), options_(options), engine_(engine), constant_force_(constant_force(system, options)) {}

  /// Sums for where the engine has the particles. Returns a particle whose terms or sums are not finite, -1: none.
  std::int32_t run(bool energy, bool quanta);
  /// Of the last run: all but the forces themselves. `energy`: that run had it.
  ForceResult result(bool energy);
  /// What sums are multiplied by to be forces.
  double unit() const;

  const FixedScales& scales() const { return scales_; }
  void set_scales(const Exponents& exponents, bool known);

 private:
  ListPass pass(Method method, bool energy, bool quanta);
  bool rescale(Method method, const PassWatch& watch);

  const System& system_;
  const ListOptions& options_;
  ListEngine& engine_;
  const double constant_force_;
  FixedScales scales_;
  bool stale_ = true;  ///< the engine's coefficients have not been scaled by them
  int passes_ = 0;
  double seconds_ = 0;
};

}  // namespace quadrille::md
