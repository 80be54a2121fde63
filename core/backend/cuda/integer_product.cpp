#include "core/backend/cuda/integer_product.h"

#include "core/backend/backend.h"
#include "core/backend/cuda/cublas.h"
#include "core/backend/cuda/stream_clock.h"
#include "core/tuning.h"

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

  std::vector<cublasLtMatmulHeuristicResult_t> proposals() {
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
    found.resize(status == CUBLAS_STATUS_SUCCESS ? std::size_t(count) : 0);
    return found;
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

/// What is tuned at once.
struct Problem {
  std::array<std::int64_t, 3> extents;  ///< m, n, k, up to the next power of two
  std::vector<std::string> names;       ///< of the candidates: cuBLAS's own choice, then the proposals
  std::vector<cublasLtMatmulAlgo_t> proposals;
};

std::array<std::int64_t, 3> problem_of(const IntegerProduct& p) {
  const auto up = [](std::int64_t n) { return std::int64_t(std::bit_ceil(std::uint64_t(n))); };
  return {up(p.m), up(p.n), up(p.k)};
}

Problem make_problem(const IntegerProduct& p) {
  Problem problem{problem_of(p), {"that of cuBLAS"}, {}};
  const auto [m, n, k] = problem.extents;
  for (const auto& found : Description({m, n, k, p.a, k, p.b, k, p.c, m}).proposals()) {
    problem.names.push_back(fmt::format("{}: {}", problem.names.size(), described(found.algo)));
    problem.proposals.push_back(found.algo);
  }
  return problem;
}

/// Lives as long as the process.
const Problem& problem_for(const IntegerProduct& p) {
  static std::mutex mutex;
  static std::map<std::array<std::int64_t, 3>, Problem> problems;
  const std::lock_guard lock(mutex);
  const auto found = problems.find(problem_of(p));
  return found != problems.end() ? found->second : problems.emplace(problem_of(p), make_problem(p)).first->second;
}

void multiply_as_cublas_does(const IntegerProduct& p) {
  const std::int32_t one = 1, zero = 0;
  QUADRILLE_CUBLAS_CHECK(cublasGemmEx_64(cublas(), CUBLAS_OP_T, CUBLAS_OP_N, p.m, p.n, p.k, &one, p.a, CUDA_R_8I, p.lda,
                                         p.b, CUDA_R_8I, p.ldb, &zero, p.c, CUDA_R_32I, p.ldc, CUBLAS_COMPUTE_32I,
                                         CUBLAS_GEMM_DEFAULT));
}

void multiply_by(const Problem& problem, const IntegerProduct& p, int number) {
  if (number > 0) {
    const cublasStatus_t status = Description(p).multiply(p, problem.proposals[std::size_t(number - 1)]);
    if (status == CUBLAS_STATUS_SUCCESS) return;
    // What serves one shape need not serve all of about that size.
    if (status != CUBLAS_STATUS_NOT_SUPPORTED && status != CUBLAS_STATUS_INVALID_VALUE) check(status, "cublasLtMatmul");
  }
  multiply_as_cublas_does(p);
}

int fastest(const Problem& problem, const IntegerProduct& p) {
  const auto [m, n, k] = problem.extents;
  const TuningKey key{find_backend("cuda").device(),
                      fmt::format("{} cublasLt {}", QUADRILLE_VERSION, cublasLtGetVersion()),
                      fmt::format("integer_product {}x{}x{}", m, n, k)};
  std::optional<StreamClock> clock;
  return tuner().choose(key, problem.names, [&](int number) {
    if (!clock) clock.emplace();
    return clock->seconds([&] { multiply_by(problem, p, number); });
  });
}

}  // namespace

void multiply_integers(const IntegerProduct& p) {
  if (double(p.m) * double(p.n) * double(p.k) < smallest_tuned) return multiply_as_cublas_does(p);
  const Problem& problem = problem_for(p);
  multiply_by(problem, p, fastest(problem, p));
}

int integer_algorithms(const IntegerProduct& product) { return int(problem_for(product).names.size()); }

void multiply_integers(const IntegerProduct& product, int algorithm) {
  multiply_by(problem_for(product), product, algorithm);
}

}  // namespace quadrille::cuda
