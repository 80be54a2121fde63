// Sums over space, for each time and momentum, of numbers that a kernel computes at each site of propagators.
#pragma once

#include "core/field/propagator.h"
#include "input/contractions/momenta.h"
#include "input/contractions/plane_sums.h"

#include <complex>
#include <cstddef>
#include <functional>
#include <vector>

namespace quadrille {

class GaussianSmearing;

/// A propagator where the kernels of this CPU can read it: itself, or where it is in the memory of a device or in a
/// device's layout a copy, converted column by column.
class QUADRILLE_API ReadablePropagator {
 public:
  /// `propagator` outlives this. With `sink` a copy whose sink is smeared, which is done on the backend of the links.
  explicit ReadablePropagator(const Propagator& propagator, const GaussianSmearing* sink = nullptr);
  const Propagator& operator*() const { return copy_.columns.empty() ? *given_ : copy_; }
  const FieldDesc& desc() const { return (**this).desc(); }
  PropagatorBlocks blocks() const;

 private:
  const Propagator* given_;
  Propagator copy_;
};

/// Complex numbers by output, momentum and time of the whole lattice.
class SpaceSums {
 public:
  SpaceSums(int outputs, std::size_t momenta, int times)
      : momenta_(momenta), times_(std::size_t(times)), values_(std::size_t(outputs) * momenta * times_) {}
  std::complex<double>* of(std::size_t output, std::size_t momentum) {
    return values_.data() + (output * momenta_ + momentum) * times_;
  }
  const std::complex<double>* of(std::size_t output, std::size_t momentum) const {
    return const_cast<SpaceSums&>(*this).of(output, momentum);
  }
  std::size_t times() const { return times_; }
  std::vector<std::complex<double>>& values() { return values_; }

 private:
  std::size_t momenta_, times_;
  std::vector<std::complex<double>> values_;
};

/// Overwrites the sums of a plane; `scratch`, aligned to a cache line, holds as many numbers as were asked for.
using PlaneKernel = std::function<void(const Plane& plane, double* scratch)>;

/// sum_x exp(-i p (x - x0)) f_n(x, t) of the outputs n of a kernel, over all ranks; only the space components of x0
/// count. `desc` describes the columns that the kernel reads. The same bits for any number of threads.
QUADRILLE_API SpaceSums sum_over_space(const FieldDesc& desc, const std::vector<Momentum>& momenta, const Dims& x0,
                                       int outputs, std::size_t scratch, const PlaneKernel& kernel);

}  // namespace quadrille
