#include "modules/shared/dense/cuda/integer_product.h"

#include "core/backend/cuda/cuda_backend.h"
#include "core/backend/cuda/of_device.h"
#include "core/backend/cuda/stream_clock.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/tuning/tuning.h"
#include "modules/shared/dense/cuda/cublas.h"

#include <cublasLt.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace quadrille::cuda {
namespace {

/// Below this m n k any algorithm takes about as long as its launch.
constexpr double smallest_tuned = 1e9;
/// Of those that cublasLt proposes, best first by its own estimate.
constexpr int most_proposals = 3;
constexpr std::uint32_t alignment = 16;

/// The product as cublasLt wants it described.
class Description {
 public:
  explicit Description(const IntegerProduct& p) {
    QUADRILLE_CUBLAS_CHECK(cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32I, CUDA_R_32I));
    const cublasOperation_t turned = CUBLAS_OP_T;
    QUADRILLE_CUBLAS_CHECK(
        cublasLtMatmulDescSetAttribute(&operation_, CUBLASLT_MATMUL_DESC_TRANSA, &turned, sizeof turned));
    const auto layout = [](cublasLtMatrixLayoutOpaque_t& matrix, cudaDataType_t type, std::int64_t rows,
                           std::int64_t columns, std::int64_t ld) {
      QUADRILLE_CUBLAS_CHECK(cublasLtMatrixLayoutInit(&matrix, type, std::uint64_t(rows), std::uint64_t(columns), ld));
    };
    layout(a_, CUDA_R_8I, p.k, p.m, p.lda);
    layout(b_, CUDA_R_8I, p.k, p.n, p.ldb);
    layout(c_, CUDA_R_32I, p.m, p.n, p.ldc);
  }

  std::vector<cublasLtMatmulAlgo_t> proposals() {
    cublasLtMatmulPreferenceOpaque_t wishes;
    QUADRILLE_CUBLAS_CHECK(cublasLtMatmulPreferenceInit(&wishes));
    const auto wish = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
      QUADRILLE_CUBLAS_CHECK(cublasLtMatmulPreferenceSetAttribute(&wishes, what, &value, sizeof value));
    };
    wish(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, cublas_workspace_bytes);
    for (const auto what : {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
                            CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      wish(what, alignment);
    }
    std::vector<cublasLtMatmulHeuristicResult_t> found(most_proposals);
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(cublas_lt(), &operation_, &a_, &b_, &c_, &c_, &wishes,
                                                                 most_proposals, found.data(), &count);
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "cublasLtMatmulAlgoGetHeuristic");
    found.resize(std::size_t(count));
    std::vector<cublasLtMatmulAlgo_t> proposals;
    for (const auto& one : found) {
      if (one.state == CUBLAS_STATUS_SUCCESS) proposals.push_back(one.algo);
    }
    return proposals;
  }

  cublasStatus_t multiply(const IntegerProduct& p, const cublasLtMatmulAlgo_t& algorithm) {
    const std::int32_t one = 1, zero = 0;
    return cublasLtMatmul(cublas_lt(), &operation_, &one, p.a, &a_, p.b, &b_, &zero, p.c, &c_, p.c, &c_, &algorithm,
                          cublas_workspace(), cublas_workspace_bytes, stream());
  }

 private:
  cublasLtMatmulDescOpaque_t operation_;
  cublasLtMatrixLayoutOpaque_t a_, b_, c_;
};

/// "tile 24, stages 35, cluster 5, ...": numbers of cublasLt.h.
std::string described(const cublasLtMatmulAlgo_t& algorithm) {
  std::string text;
  const auto add = [&]<class Number>(const char* name, cublasLtMatmulAlgoConfigAttributes_t what, Number number) {
    std::size_t written = 0;
    if (cublasLtMatmulAlgoConfigGetAttribute(&algorithm, what, &number, sizeof number, &written) ==
        CUBLAS_STATUS_SUCCESS) {
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, number);
    }
  };
  add("algorithm", CUBLASLT_ALGO_CONFIG_ID, std::int32_t(0));
  add("tile", CUBLASLT_ALGO_CONFIG_TILE_ID, std::uint32_t(0));
  add("stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, std::uint32_t(0));
  add("cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, std::uint16_t(0));
  add("swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, std::uint32_t(0));
  add("parts of k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, std::int32_t(0));
  return text;
}

/// What is tuned at once: products whose extents are the same up to the next power of two.
struct Problem {
  TuningKey key;
  std::vector<std::string> names;  ///< of the candidates: cuBLAS's own choice, then the proposals
  std::vector<cublasLtMatmulAlgo_t> proposals;
};

using Extents = std::array<std::int64_t, 3>;

Extents extents_up(const IntegerProduct& p) {
  const auto up = [](std::int64_t n) { return std::int64_t(std::bit_ceil(std::uint64_t(n))); };
  return {up(p.m), up(p.n), up(p.k)};
}

Problem make_problem(const Extents& extents) {
  const auto [m, n, k] = extents;
  Problem problem;
  problem.key = {cuda_backend().device(), fmt::format("{} cublasLt {}", QUADRILLE_VERSION, cublasLtGetVersion()),
                 fmt::format("integer_product {}x{}x{}", m, n, k)};
  problem.names = {"that of cuBLAS"};
  problem.proposals = Description({m, n, k, nullptr, k, nullptr, k, nullptr, m}).proposals();
  for (const cublasLtMatmulAlgo_t& algorithm : problem.proposals) {
    problem.names.push_back(fmt::format("{}: {}", problem.names.size(), described(algorithm)));
  }
  return problem;
}

/// That of this thread's device. Lives as long as the process.
const Problem& problem_for(const IntegerProduct& p) {
  static std::mutex mutex;
  static OfDevice<std::map<Extents, Problem>> of_devices;
  const Extents extents = extents_up(p);
  const std::lock_guard lock(mutex);
  std::map<Extents, Problem>& problems = of_devices.here([] { return std::map<Extents, Problem>(); });
  const auto found = problems.find(extents);
  return found != problems.end() ? found->second : problems.emplace(extents, make_problem(extents)).first->second;
}

void multiply_as_cublas_does(const IntegerProduct& p) {
  const std::int32_t one = 1, zero = 0;
  QUADRILLE_CUBLAS_CHECK(cublasGemmEx_64(cublas(), CUBLAS_OP_T, CUBLAS_OP_N, p.m, p.n, p.k, &one, p.a, CUDA_R_8I, p.lda,
                                         p.b, CUDA_R_8I, p.ldb, &zero, p.c, CUDA_R_32I, p.ldc, CUBLAS_COMPUTE_32I,
                                         CUBLAS_GEMM_DEFAULT));
}

/// By candidate `number`. Says whether it takes this product: what serves one shape need not serve all of about that
/// size.
cublasStatus_t try_to_multiply(const Problem& problem, const IntegerProduct& p, int number) {
  if (number > 0) return Description(p).multiply(p, problem.proposals.at(std::size_t(number - 1)));
  multiply_as_cublas_does(p);
  return CUBLAS_STATUS_SUCCESS;
}

int fastest(const Problem& problem, const IntegerProduct& p) {
  std::optional<StreamClock> clock;
  return tuner().choose(problem.key, problem.names, [&](int number) {
    if (!clock) clock.emplace();
    return clock->seconds([&] { check(try_to_multiply(problem, p, number), "cublasLtMatmul"); });
  });
}

void require_alignment(const IntegerProduct& p) {
  const auto whole = [](auto number) { return number % alignment == 0; };
  const auto place = [](const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); };
  if (whole(p.m) && whole(p.n) && whole(p.k) && whole(p.lda) && whole(p.ldb) && whole(4 * p.ldc) && whole(place(p.a)) &&
      whole(place(p.b)) && whole(place(p.c))) {
    return;
  }
  throw Error(ErrorCode::internal,
              fmt::format("a product of integers of {} x {} x {} with leading dimensions {}, {}, {}: extents and "
                          "leading dimensions must be multiples of {}, and pointers aligned to as many bytes",
                          p.m, p.n, p.k, p.lda, p.ldb, p.ldc, alignment));
}

}  // namespace

void multiply_integers(const IntegerProduct& p) {
  require_alignment(p);
  if (double(p.m) * double(p.n) * double(p.k) < smallest_tuned) return multiply_as_cublas_does(p);
  const Problem& problem = problem_for(p);
  const int number = fastest(problem, p);
  const cublasStatus_t status = try_to_multiply(problem, p, number);
  if (status == CUBLAS_STATUS_SUCCESS) return;
  log().debug("{}: {} of {} x {} x {}: cuBLAS's own choice is taken instead of {}", problem.key.problem,
              cublasGetStatusName(status), p.m, p.n, p.k, problem.names[std::size_t(number)]);
  multiply_as_cublas_does(p);
}

int integer_algorithms(const IntegerProduct& product) { return int(problem_for(product).names.size()); }

void multiply_integers(const IntegerProduct& product, int algorithm) {
  require_alignment(product);
  check(try_to_multiply(problem_for(product), product, algorithm), "cublasLtMatmul");
}

}  // namespace quadrille::cuda
