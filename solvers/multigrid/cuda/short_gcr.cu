// The inner solves of coarse levels on a GPU: all right-hand sides of a list in one launch of each pass, with their
// scalars where the fields are.
//
// p_k = K r, q_k = A p_k - sum_j beta_jk q_j orthogonal to the q_j before, r -= alpha_k q_k; x = sum_k chi_k p_k with
// alpha = (1 + beta) chi at the end, as in solvers/methods/gcr.cpp. Without K the residual itself is the next p.
// Traffic of a direction, for k before it: 2 k + 5 fields read, 2 written.
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "core/operator/scratch_fields.h"
#include "solvers/methods/workspace.h"
#include "solvers/multigrid/cuda/device_multigrid.h"
#include "solvers/multigrid/cuda/device_sites.cuh"

#include <algorithm>
#include <deque>
#include <vector>

namespace quadrille::multigrid {
namespace {

using device::add_product;
using device::Complex;
using device::load_pair;
using device::Pair;
using device::store_pair;
using Number = Complex<double>;

constexpr int pass_threads = 256, pass_warps = pass_threads / 32;
constexpr int pairs_of_thread = 4;  ///< of complex numbers; so a block has 1,024
constexpr int most_directions = most_device_directions;
constexpr int most_solves = 32;
constexpr const char* gcr_advice = "use fewer `coarse_iterations` or solve for fewer right-hand sides at once";

/// What the host looks at.
struct Head {
  double first2, r2;  ///< |r|^2 at the beginning, and now
  int steps;
  bool active;
};
/// What one right-hand side has in the device's memory, beside its vectors.
struct Solve : Head {
  double q2[most_directions];
  Number alpha[most_directions], chi[most_directions], beta[most_directions][most_directions];
};

/// All of a list as the passes see it: blockIdx.y is a place in `going`.
struct Solves {
  Solve* of;
  float* const* p;  ///< [right-hand side][direction]
  float* const* q;
  double* partial;  ///< [right-hand side][sum][block]
  unsigned* done;   ///< [right-hand side]
  std::int64_t pairs;
  int directions;
  double tolerance2;
  int going[most_solves];
};
struct Vectors {
  float* of[most_solves];  ///< of the right-hand sides in `going`
};

__device__ __forceinline__ void add_dot(Number& sum, const Pair<float>& a, const Pair<float>& b) {
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const double are = a.at[n].re, aim = a.at[n].im, bre = b.at[n].re, bim = b.at[n].im;
    sum.re += are * bre + aim * bim;
    sum.im += are * bim - aim * bre;
  }
}
__device__ __forceinline__ double sum_of_warp(double value) {
#pragma unroll
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(0xffffffffu, value, distance);
  return value;
}

/// The pairs of this thread: body(place, n).
template <class Body>
__device__ __forceinline__ void for_pairs(std::int64_t pairs, Body&& body) {
#pragma unroll
  for (int n = 0; n < pairs_of_thread; ++n) {
    const std::int64_t pair = (std::int64_t(blockIdx.x) * pairs_of_thread + n) * pass_threads + threadIdx.x;
    if (pair < pairs) body(4 * pair, n);
  }
}

/// Sums values [sum][warp] of all blocks, in a fixed order, and calls finish(sums) in one thread of the last block.
template <class Finish>
__device__ void sum_up(const Solves& s, int rhs, int sums, const double (*of_warps)[pass_warps], Finish&& finish) {
  __shared__ double totals[2 * most_directions];
  __shared__ bool last;
  const unsigned blocks = gridDim.x;
  double* const partial = s.partial + std::int64_t(rhs) * 2 * most_directions * blocks;
  __syncthreads();
  for (int k = int(threadIdx.x); k < sums; k += pass_threads) {
    double sum = 0;
    for (int w = 0; w < pass_warps; ++w) sum += of_warps[k][w];
    partial[k * blocks + blockIdx.x] = sum;
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicAdd(s.done + rhs, 1u) == blocks - 1;
  __syncthreads();
  if (!last) return;
  __threadfence();
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  for (int k = warp; k < sums; k += pass_warps) {
    double sum = 0;
    for (unsigned b = unsigned(lane); b < blocks; b += 32) sum += __ldcg(partial + k * blocks + b);
    sum = sum_of_warp(sum);
    if (lane == 0) totals[k] = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  s.done[rhs] = 0;
  finish(totals);
}

/// r = b: |r|^2.
__global__ void __launch_bounds__(pass_threads)
    begin_solves(const __grid_constant__ Solves s, const __grid_constant__ Vectors r,
                 const __grid_constant__ Vectors b) {
  __shared__ double of_warps[1][pass_warps];
  const int rhs = s.going[blockIdx.y];
  Number sum{};
  for_pairs(s.pairs, [&](std::int64_t place, int) {
    const Pair<float> value = load_pair(b.of[blockIdx.y] + place);
    store_pair(r.of[blockIdx.y] + place, value);
    add_dot(sum, value, value);
  });
  const double all = sum_of_warp(sum.re);
  if (threadIdx.x % 32 == 0) of_warps[0][threadIdx.x / 32] = all;
  sum_up(s, rhs, 1, of_warps, [&](const double* sums) {
    Solve& solve = s.of[rhs];
    solve.first2 = solve.r2 = sums[0];
    solve.steps = 0;
    solve.active = sums[0] > 0 && isfinite(sums[0]);
  });
}

/// beta_jk = <q_j, q_k> / |q_j|^2 for j < k.
__global__ void __launch_bounds__(pass_threads) project_direction(const __grid_constant__ Solves s, int k) {
  __shared__ double of_warps[2 * most_directions][pass_warps];
  const int rhs = s.going[blockIdx.y], warp = int(threadIdx.x) / 32;
  if (!s.of[rhs].active) return;
  float* const* const q = s.q + rhs * s.directions;
  Pair<float> mine[pairs_of_thread] = {};
  for_pairs(s.pairs, [&](std::int64_t place, int n) { mine[n] = load_pair(q[k] + place); });
  for (int j = 0; j < k; ++j) {
    Number sum{};
    for_pairs(s.pairs, [&](std::int64_t place, int n) { add_dot(sum, load_pair(q[j] + place), mine[n]); });
    const double re = sum_of_warp(sum.re), im = sum_of_warp(sum.im);
    if (threadIdx.x % 32 == 0) of_warps[2 * j][warp] = re, of_warps[2 * j + 1][warp] = im;
  }
  sum_up(s, rhs, 2 * k, of_warps, [&](const double* sums) {
    Solve& solve = s.of[rhs];
    for (int j = 0; j < k; ++j) {
      solve.beta[j][k] = {sums[2 * j] / solve.q2[j], sums[2 * j + 1] / solve.q2[j]};
    }
  });
}

/// q_k -= sum over j of beta_jk q_j, alpha_k = <q_k, r> / |q_k|^2.
__global__ void __launch_bounds__(pass_threads)
    make_orthogonal(const __grid_constant__ Solves s, const __grid_constant__ Vectors r, int k) {
  __shared__ double of_warps[3][pass_warps];
  const int rhs = s.going[blockIdx.y], warp = int(threadIdx.x) / 32;
  const Solve& solve = s.of[rhs];
  if (!solve.active) return;
  float* const* const q = s.q + rhs * s.directions;
  Pair<float> mine[pairs_of_thread] = {};
  for_pairs(s.pairs, [&](std::int64_t place, int n) { mine[n] = load_pair(q[k] + place); });
  for (int j = 0; j < k; ++j) {
    const Complex<float> taken{-float(solve.beta[j][k].re), -float(solve.beta[j][k].im)};
    for_pairs(s.pairs, [&](std::int64_t place, int n) {
      const Pair<float> other = load_pair(q[j] + place);
      add_product(mine[n].at[0], taken, other.at[0]);
      add_product(mine[n].at[1], taken, other.at[1]);
    });
  }
  Number dot{}, norm{};
  for_pairs(s.pairs, [&](std::int64_t place, int n) {
    store_pair(q[k] + place, mine[n]);
    add_dot(norm, mine[n], mine[n]);
    add_dot(dot, mine[n], load_pair(r.of[blockIdx.y] + place));
  });
  const double sums[3] = {sum_of_warp(norm.re), sum_of_warp(dot.re), sum_of_warp(dot.im)};
  if (threadIdx.x % 32 == 0) {
    for (int i = 0; i < 3; ++i) of_warps[i][warp] = sums[i];
  }
  sum_up(s, rhs, 3, of_warps, [&](const double* all) {
    Solve& now = s.of[rhs];
    now.q2[k] = all[0];
    now.alpha[k] = {all[1] / all[0], all[2] / all[0]};
    now.active = all[0] > 0 && isfinite(all[0]) && isfinite(now.alpha[k].re) && isfinite(now.alpha[k].im);
  });
}

/// `after` = r - alpha_k q_k, which may be r; whether the solve goes on.
__global__ void __launch_bounds__(pass_threads)
    take_direction(const __grid_constant__ Solves s, const __grid_constant__ Vectors r,
                   const __grid_constant__ Vectors after, int k) {
  __shared__ double of_warps[1][pass_warps];
  const int rhs = s.going[blockIdx.y];
  const Solve& solve = s.of[rhs];
  if (!solve.active) return;
  const float* const q = s.q[rhs * s.directions + k];
  const Complex<float> taken{-float(solve.alpha[k].re), -float(solve.alpha[k].im)};
  Number sum{};
  for_pairs(s.pairs, [&](std::int64_t place, int) {
    Pair<float> value = load_pair(r.of[blockIdx.y] + place);
    const Pair<float> other = load_pair(q + place);
    add_product(value.at[0], taken, other.at[0]);
    add_product(value.at[1], taken, other.at[1]);
    store_pair(after.of[blockIdx.y] + place, value);
    add_dot(sum, value, value);
  });
  const double all = sum_of_warp(sum.re);
  if (threadIdx.x % 32 == 0) of_warps[0][threadIdx.x / 32] = all;
  sum_up(s, rhs, 1, of_warps, [&](const double* sums) {
    Solve& now = s.of[rhs];
    now.r2 = sums[0];
    ++now.steps;
    now.active = isfinite(now.r2) && now.r2 > s.tolerance2 * now.first2;
  });
}

__global__ void find_coefficients(const __grid_constant__ Solves s) {
  Solve& solve = s.of[s.going[blockIdx.x]];
  for (int k = solve.steps; k-- > 0;) {  // alpha = (1 + beta) chi
    Number chi = solve.alpha[k];
    for (int l = k + 1; l < solve.steps; ++l) {
      add_product(chi, {-solve.beta[k][l].re, -solve.beta[k][l].im}, solve.chi[l]);
    }
    solve.chi[k] = chi;
  }
}

/// y = sum over k of chi_k p_k
__global__ void __launch_bounds__(pass_threads)
    add_directions(const __grid_constant__ Solves s, const __grid_constant__ Vectors y) {
  const int rhs = s.going[blockIdx.y];
  const Solve& solve = s.of[rhs];
  Pair<float> sums[pairs_of_thread] = {};
  for (int k = 0; k < solve.steps; ++k) {
    const Complex<float> chi{float(solve.chi[k].re), float(solve.chi[k].im)};
    const float* const p = s.p[rhs * s.directions + k];
    for_pairs(s.pairs, [&](std::int64_t place, int n) {
      const Pair<float> value = load_pair(p + place);
      add_product(sums[n].at[0], chi, value.at[0]);
      add_product(sums[n].at[1], chi, value.at[1]);
    });
  }
  for_pairs(s.pairs, [&](std::int64_t place, int n) { store_pair(y.of[blockIdx.y] + place, sums[n]); });
}

class DeviceGcr final : public InnerSolver {
 public:
  DeviceGcr(const LinearOperator& a, const LinearOperator* k, int directions, double tolerance)
      : InnerSolver(a, k, std::min(directions, most_directions), tolerance),
        r_(a.field_desc()),
        parity_(parity_of(a.field_desc().subset)),
        pairs_(a.field_desc().lattice->half_volume() * a.field_desc().components() / 4) {}

 private:
  void solve_each(OperandList list) const override {
    for (std::size_t first = 0; first < list.size(); first += most_solves) {
      solve(list.subspan(first, std::min<std::size_t>(most_solves, list.size() - first)));
    }
  }
  void reserve(std::size_t count) const;
  void solve(OperandList list) const;
  float* numbers(const Field& field) const { return static_cast<float*>(const_cast<Field&>(field).numbers(parity_)); }
  unsigned blocks() const {
    constexpr int of_block = pass_threads * pairs_of_thread;
    return unsigned((pairs_ + of_block - 1) / of_block);
  }

  mutable ScratchFields r_;  ///< what remains, with K and at the end
  Parity parity_;
  std::int64_t pairs_;
  mutable std::size_t reserved_ = 0;  ///< right-hand sides for which all of what follows is there
  mutable std::deque<Workspace> p_, q_;
  mutable cuda::DeviceArray<Solve> solves_;
  mutable cuda::DeviceArray<float*> p_there_, q_there_;
  mutable cuda::DeviceArray<double> partial_;
  mutable cuda::DeviceArray<unsigned> done_;
};

void DeviceGcr::reserve(std::size_t count) const {
  if (reserved_ >= count) return;
  for (std::deque<Workspace>* all : {&p_, &q_}) {
    while (all->size() < count) all->emplace_back(field_desc(), std::size_t(directions_));
  }
  constexpr const char* what = "the inner solves of multigrid";
  const auto there = [&](std::deque<Workspace>& all) {
    std::vector<float*> pointers;
    for (Workspace& fields : all) {
      for (int k = 0; k < directions_; ++k) pointers.push_back(numbers(fields[std::size_t(k)]));
    }
    return cuda::sent(pointers, what, gcr_advice);
  };
  p_there_ = there(p_);
  q_there_ = there(q_);
  const std::int64_t rhs = std::int64_t(count);
  solves_ = cuda::DeviceArray<Solve>(rhs, what, gcr_advice);
  partial_ = cuda::DeviceArray<double>(rhs * 2 * most_directions * blocks(), what, gcr_advice);
  done_ = cuda::sent(std::vector<unsigned>(count, 0), what, gcr_advice);
  reserved_ = count;  // last: where memory has run out on the way, the next call tries again
}

void DeviceGcr::solve(OperandList list) const {
  reserve(list.size());
  Solves all{.of = solves_.get(),
             .p = p_there_.get(),
             .q = q_there_.get(),
             .partial = partial_.get(),
             .done = done_.get(),
             .pairs = pairs_,
             .directions = directions_,
             .tolerance2 = tolerance_ * tolerance_,
             .going = {}};
  std::vector<std::size_t> going;
  for (std::size_t i = 0; i < list.size(); ++i) going.push_back(i);
  std::vector<Head> heads(list.size());
  const auto look = [&] {  // which solves go on
    QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(heads.data(), sizeof(Head), solves_.get(), sizeof(Solve), sizeof(Head),
                                           list.size(), cudaMemcpyDeviceToHost, cuda::stream()));
    QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(cuda::stream()));
    std::erase_if(going, [&](std::size_t i) { return !heads[i].active; });
  };
  /// of(i) of those that go on, for the launch of a pass.
  const auto vectors = [&](auto&& of) {
    Vectors made{};
    for (std::size_t n = 0; n < going.size(); ++n) made.of[n] = numbers(of(going[n]));
    return made;
  };
  const auto grid = [&] {
    for (std::size_t n = 0; n < going.size(); ++n) all.going[n] = int(going[n]);
    return dim3(blocks(), unsigned(going.size()));
  };
  /// Where r is before direction k.
  const auto residual = [&](int k) {
    const bool apart = k_ != nullptr || k == directions_;
    return [&, k, apart](std::size_t i) -> Field& { return apart ? r_[i] : p_[i][std::size_t(k)]; };
  };
  const cudaStream_t stream = cuda::stream();
  const dim3 whole = grid();
  begin_solves<<<whole, pass_threads, 0, stream>>>(all, vectors(residual(0)),
                                                   vectors([&](std::size_t i) -> const Field& { return *list[i].x; }));
  for (int k = 0; k < directions_ && !going.empty(); ++k) {
    OwnedOperands directions(going.size()), images(going.size());
    for (std::size_t n = 0; n < going.size(); ++n) {
      Field& p = p_[going[n]][std::size_t(k)];
      directions[n] = {&p, &residual(k)(going[n])};
      images[n] = {&q_[going[n]][std::size_t(k)], &p};
    }
    if (k_ != nullptr) k_->apply_each(directions, Dagger::No);
    a_.apply_each(images, Dagger::No);
    const dim3 launch = grid();
    if (k > 0) project_direction<<<launch, pass_threads, 0, stream>>>(all, k);
    make_orthogonal<<<launch, pass_threads, 0, stream>>>(all, vectors(residual(k)), k);
    take_direction<<<launch, pass_threads, 0, stream>>>(all, vectors(residual(k)), vectors(residual(k + 1)), k);
    cuda::check(cudaGetLastError(), "the launch of an inner solve");
    if (tolerance_ > 0 && (k_ != nullptr || k % 2 == 1 || k + 1 == directions_)) look();
  }
  double taken = tolerance_ > 0 ? 0 : double(directions_) * double(list.size());
  for (const Head& head : heads) taken += head.steps;
  count_directions(taken, list.size());
  going.clear();
  for (std::size_t i = 0; i < list.size(); ++i) going.push_back(i);
  const dim3 end = grid();
  find_coefficients<<<end.y, 1, 0, stream>>>(all);
  add_directions<<<end, pass_threads, 0, stream>>>(all, vectors([&](std::size_t i) -> Field& { return *list[i].y; }));
  cuda::check(cudaGetLastError(), "the launch of an inner solve");
}

}  // namespace

std::unique_ptr<InnerSolver> make_device_gcr(const LinearOperator& a, const LinearOperator* k, int directions,
                                             double tolerance) {
  if (a.field_desc().precision != Precision::Single) {
    throw Error(ErrorCode::internal, "inner solves of multigrid on a GPU are in single precision");
  }
  return std::make_unique<DeviceGcr>(a, k, directions, tolerance);
}

}  // namespace quadrille::multigrid
