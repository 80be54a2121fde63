// Products on a GPU. In a build without CUDA every call throws ErrorCode::unsupported.
#pragma once

#include "core/api.h"
#include "modules/mgemm/cleaver.h"
#include "modules/mgemm/mgemm.h"

#include <cstdint>
#include <memory>

namespace quadrille::mgemm {

/// mgemm() with A, B and C in the memory of the CUDA backend (Backend::allocate, or any memory of its device); asked
/// for on the backend's stream and done when Backend::synchronize returns. Waits for what the choice needs, so that the
/// report is whole, and while the first product of integers of about its size is tuned. The memory cap is of what is
/// taken besides A, B and C, the sums of the analysis (20 bytes for 256 elements) and the lists of large elements.
/// Errors: those of check_arguments; ErrorCode::numerical where the analysis meets an element of A or B that is not
/// finite; C is as it was then. Products that are too small, and those for which a sample of the elements promises no
/// gain, are not analysed: what is not finite passes into C there, as an element of C does when beta != 0, and the
/// bound of the report is infinite.
QUADRILLE_API MgemmReport mgemm_on_device(const Gemm<double>& gemm, const Cutoff& cutoff,
                                          const MgemmOptions& options = {});

/// What mgemm() with the CUDA backend calls: operands in the memory of the host, arguments checked.
MgemmReport mgemm_through_device(const Gemm<double>& gemm, const Cutoff& cutoff, const MgemmOptions& options);

/// The same for cleaver(): panels or strips pass through the device's memory while those before are multiplied.
/// The operands are checked and finite. memory_cap: bytes of the device's memory; 0: what is free.
template <class T>
CleaverReport multiply_panels_on_device(const Operands<T>& operands, std::int64_t memory_cap);

/// A factor that many products share, on the device: analysed and in parts once. op(X) is `lines` rows of the left
/// factor, or columns of the right one, of length k; row blocks of one product are ranges of lines.
class QUADRILLE_API PreparedFactor {
 public:
  enum class Side { left, right };
  /// The left factor op(A) is rows x cols = lines x k, the right one op(B) k x lines; `matrix` must stay as it is while
  /// the factor lives (the sparse products read it). Errors: ErrorCode::numerical for an element that is not finite,
  /// ErrorCode::invalid_input for a matrix without elements.
  PreparedFactor(DenseView<const double> matrix, Side side, double delta, SmallForm form);
  ~PreparedFactor();
  PreparedFactor(PreparedFactor&&) noexcept;
  PreparedFactor& operator=(PreparedFactor&&) noexcept;

  std::int64_t lines() const;
  std::int64_t large_elements() const;

  class Body;
  const Body& body() const { return *body_; }

 private:
  std::unique_ptr<Body> body_;
};

/// Lines [first, first + count) of a factor.
struct FactorRange {
  const PreparedFactor* factor = nullptr;
  std::int64_t first = 0, count = 0;
};

/// C = alpha A B + beta C for factors prepared with the same form, C (stored by columns) on the device. Waits only
/// while the first product of integers of about its size is tuned. depth: longest sum of the form; 0: the usual one.
/// Errors: ErrorCode::invalid_input for factors that do not fit.
QUADRILLE_API void multiply_prepared(double alpha, const FactorRange& a, const FactorRange& b, double beta,
                                     DenseView<double> c, std::int64_t depth = 0);

}  // namespace quadrille::mgemm
