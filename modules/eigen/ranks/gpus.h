// The eigenproblem on the GPUs of several ranks, one each. In builds with CUDA alone: see with_cuda() in
// core/backend/of_backend.h. All is collective, and errors are the same on all ranks.
#pragma once

#include "core/api.h"
#include "core/comm/communicator.h"
#include "modules/eigen/problem.h"
#include "modules/eigen/ranks/layout.h"
#include "modules/eigen/ranks/solve_on_ranks.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace quadrille::eigen {

/// The Cholesky factor of B, its columns in the memories of the ranks' GPUs, kept for all A with the same B.
template <class T>
class QUADRILLE_API GpuFactor {
 public:
  /// b: this rank's part, whose lower triangle counts; left as it is. Errors: those of Factor, NotEnoughMemory.
  GpuFactor(const Communicator& ranks, const Layout& layout, const T* b);
  ~GpuFactor();
  GpuFactor(GpuFactor&&) noexcept;

  const Phase& made() const;

  struct Data;
  const Data& data() const { return *data_; }

 private:
  std::unique_ptr<Data> data_;
};

template <class T>
struct GpuProblem {
  const Communicator& ranks;
  Layout layout;                    ///< columns_on_gpus()
  const T* a = nullptr;             ///< this rank's part, whose lower triangle counts; left as it is
  const GpuFactor<T>* b = nullptr;  ///< null: B is the identity
  Fraction fraction = {};
  Progress progress = {};  ///< called on all ranks; what it throws must be thrown on all
};

/// As solve_on_device(): Cholesky factor, standard form and band by columns in turns; bulge chasing on every GPU again,
/// which takes GPUs of one kind; subtrees of divide and conquer by each GPU, the merges above them on every one;
/// vectors in equal shares, which need no others on their way back. The same bits in every run on as many GPUs of a
/// kind. Errors besides: ErrorCode::unsupported where GPUs do not agree on eigenvalues.
template <class T>
QUADRILLE_API SpreadPairs<T> solve_on_gpus(const GpuProblem<T>& problem);

/// Bytes of the memory of one GPU that a solution takes at most, `factor_too`: with the factor of B.
template <class T>
QUADRILLE_API double bytes_on_gpu(const Layout& layout, const Fraction& fraction, bool factor_too);

/// Throws where a rank's GPU cannot solve the problem, as require_device() does, or ranks share a GPU whose memory does
/// not suffice for them.
template <class T>
QUADRILLE_API void require_gpus(const Communicator& ranks, const Layout& layout, const Fraction& fraction,
                                bool factor_too);

/// How many of the ranks are on the host of this one.
QUADRILLE_API int gpu_ranks_of_host(const Communicator& ranks);

/// check_pairs() of one process, with products on its GPU: the vectors are taken over and given back.
template <class T>
QUADRILLE_API Accuracy check_on_gpu(const std::vector<T>& a, const std::vector<T>* b, Pairs<T>& pairs);

/// A X and X^H Y on GPUs, for check_on_ranks(): A in columns_on_gpus(), X and Y in shares.
template <class T>
QUADRILLE_API std::unique_ptr<SpreadProducts<T>> products_on_gpus(const Communicator& ranks, const Layout& layout);

}  // namespace quadrille::eigen
