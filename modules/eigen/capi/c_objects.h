// What stands behind the handles of c_api.h, and what calls on one process and on ranks share.
#pragma once

#include "core/comm/ranks.h"
#include "modules/eigen/capi/c_api.h"
#include "modules/eigen/device.h"
#include "modules/eigen/factor.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/gpus.h"
#include "modules/eigen/ranks/library.h"
#include "modules/eigen/ranks/solve_on_ranks.h"
#include "modules/shared/plugin/c_calls.h"
#include "modules/shared/plugin/handle_table.h"

#include <complex>
#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace quadrille::eigen {

using Complex = std::complex<double>;

/// Kept by a pointer: builds without CUDA have none.
template <class T>
using FactorThere = std::shared_ptr<const DeviceFactor<T>>;
template <class T>
using FactorOnGpus = std::shared_ptr<const GpuFactor<T>>;

/// The ranks of a host, and how matrices lie on them.
struct HostGrid {
  static constexpr c_calls::Kind kind = c_calls::Kind::eigen_grid;
  std::unique_ptr<Ranks> ranks;
  std::shared_ptr<const Communicator> all;
  Layout layout;
  Backend* gpu = nullptr;  ///< of this rank, where GPUs solve problems; else a library does on CPUs
  std::unique_ptr<SpreadLibrary> library;
  std::unique_ptr<SpreadSteps<double>> real;
  std::unique_ptr<SpreadSteps<Complex>> complex;

  template <class T>
  SpreadSteps<T>& steps() {
    if constexpr (is_complex<T>) {
      return *complex;
    } else {
      return *real;
    }
  }
};

struct HostFactor {
  static constexpr c_calls::Kind kind = c_calls::Kind::eigen_factor;
  std::shared_ptr<HostGrid> grid;  // first: it ends last; null: one process
  std::variant<Factor<double>, Factor<Complex>, SpreadFactor<double>, SpreadFactor<Complex>, FactorThere<double>,
               FactorThere<Complex>, FactorOnGpus<double>, FactorOnGpus<Complex>>
      factor;

  /// Of one process.
  bool on_device() const { return factor.index() == 4 || factor.index() == 5; }
};

/// Its factor, Factor<T>, SpreadFactor<T>, FactorThere<T> or FactorOnGpus<T>. Throws where it is of the other type of
/// numbers.
template <class T, template <class> class Kept>
const Kept<T>& numbers_of(const HostFactor& factor) {
  const auto* const found = std::get_if<Kept<T>>(&factor.factor);
  if (found == nullptr) c_calls::refuse(is_complex<T> ? "A is complex, but B is real" : "A is real, but B is complex");
  return *found;
}

/// Runs a C call and keeps the message of one that fails.
quadrille_status guarded(const char* name, const std::function<void()>& call) noexcept;
const char* message_of_last_failure();

Triangle triangle_of(char letter);
Fraction fraction_of(const quadrille_eigen_options& options);
/// Throws for numbers that are none of steps, and where there are no vectors.
int refinement_of(const quadrille_eigen_options& options);
void check_report(const quadrille_eigen_report* report);
/// Throws where an interval has more pairs than the host has room for.
void check_room(const quadrille_eigen_options& options, std::int64_t pairs);
/// `to` may be null.
void write_report(IndexRange range, const std::vector<Phase>& phases, const std::vector<Refinement>& steps,
                  quadrille_eigen_report* to);

}  // namespace quadrille::eigen
