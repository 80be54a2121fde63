// Back-transformation by the reflections of bulge chasing: E <- Q2 E.
//
// The reflections of step t of the b = 64 sweeps of group g are a parallelogram V of 127 rows: I - V T V^T. E takes the
// last group first, and within a group t = 0 first. A warp keeps 128 rows of 16 columns of E in its registers and
// slides over the rows: 64 rows leave and 64 enter for each diamond, so E passes memory once a group. E^T is the left
// factor and the result of mma.m16n8k4, whose terms may come in any order: a thread's part of a result is its part of
// the next left factor.
#include "modules/eigen/cuda/apply_q2.h"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/plain_diamonds.cuh"
#include "modules/eigen/cuda/warps.cuh"
#include "modules/eigen/device_needs.h"

#include <cuda/atomic>

#include <algorithm>
#include <vector>

namespace quadrille::eigen {
namespace {

/// What form_diamonds() takes of shared memory: V [sweep][row], and S below the diagonal of T.
template <class T>
constexpr int forming_bytes = int(sizeof(T)) * bandwidth * 2 * (bandwidth + 1);

/// T of each diamond, b x b, row-major with zeros below the diagonal; a block a diamond.
template <class T>
__global__ void __launch_bounds__(256) form_diamonds(const T* v, const T* tau, T* t) {
  constexpr int b = bandwidth, ld = b + 1;
  extern __shared__ double2 shared_bytes[];
  T* const vs = reinterpret_cast<T*>(shared_bytes);
  T* const out = vs + b * ld;  // T_ij at i + j ld, i <= j; S_ij at j + i ld, i < j
  const T* const mine = v + long(blockIdx.x) * b * b;
  for (int k = threadIdx.x; k < b * b; k += blockDim.x) vs[(k / b) * ld + k % b] = mine[k];
  __syncthreads();
  // S_ij = v_i^H v_j, i < j: rows j..b+i-1 of the frame of v_i are those of both
  for (int k = threadIdx.x; k < b * b; k += blockDim.x) {
    const int i = k % b, j = k / b;
    if (i >= j) continue;
    T sum(0.0);
    for (int r = 0; r < b - (j - i); ++r) sum += conj(vs[i * ld + r + j - i]) * vs[j * ld + r];
    out[j + i * ld] = sum;
  }
  __syncthreads();
  const int row = threadIdx.x / 4, part = threadIdx.x % 4;
  for (int j = 0; j < b; ++j) {
    T sum(0.0);
    if (row < j) {
      for (int k = row + part; k < j; k += 4) sum += out[row + k * ld] * out[j + k * ld];
    }
    sum += shuffled_xor(sum, 1);
    sum += shuffled_xor(sum, 2);
    const T factor = tau[long(blockIdx.x) * b + j];
    if (part == 0 && row <= j) out[row + j * ld] = row < j ? -(factor * sum) : factor;
    __syncthreads();
  }
  T* const to = t + long(blockIdx.x) * b * b;
  for (int k = threadIdx.x; k < b * b; k += blockDim.x) {
    const int i = k / b, j = k % b;
    to[k] = i <= j ? out[i + j * ld] : T(0.0);
  }
}

/// C += A B of 16 x 4 and 4 x 8 numbers. (The form with 16 terms wants its operands in more consecutive registers than
/// moves are worth here.)
__device__ inline void mma(double (&c)[4], double a0, double a1, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a0), "d"(a1), "d"(b));
#else
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a0), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a1), "d"(b));
#endif
}

/// V and T of one diamond in shared memory. Rows of V are told apart by twos: a thread reads 16 bytes at a time without
/// conflicts of banks, as terms of V^H E and as columns of V X.
struct Diamond {
  static constexpr int b = bandwidth, ldv = 82, ldt = 72;
  double v[b * ldv];  ///< [sweep][row - 16 (sweep / 16)]: 80 rows, zero outside the 64 of the vector
  double t[b * ldt];  ///< [row][column]
};

/// Of a block of apply_diamonds().
constexpr int q2_threads = 256;

/// Groups first > group >= last of a panel of columns.
struct Piece {
  int panel, first, last, waits;  ///< waits: the panel's groups before were done by another block
};
struct Q2 {
  const double *v, *t;
  double* e;  ///< n x columns, leading dimension lde
  long lde;
  int n, columns;
  int warps;  ///< of a block that have columns, 16 each; all copy diamonds
  const Piece* pieces;
  const int* begin;  ///< of each block's pieces, and the end
  int* done;         ///< panels: 1 when the first of two blocks has done its groups; zero at the start
};

__device__ inline void copy_8(double* to, const double* from) {
  const unsigned at = __cvta_generic_to_shared(to);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(at), "l"(from));
}
__device__ inline void copy_16(double* to, const double* from) {
  const unsigned at = __cvta_generic_to_shared(to);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from));
}
/// By all threads; places differ by constants, so that no instruction is spent on them.
__device__ inline void copy_diamond(Diamond& to, const double* v, const double* t) {
  constexpr int b = bandwidth, sweeps = q2_threads / b, t_rows = q2_threads / (b / 2);
  static_assert(16 % sweeps == 0 && b % sweeps == 0 && b % t_rows == 0);
  const int k = int(threadIdx.x), sweep = k / b;
  double* const to_v = &to.v[sweep * Diamond::ldv + sweep + k % b];
#pragma unroll
  for (int s = 0; s < b; s += sweeps) copy_8(to_v + s * Diamond::ldv + s % 16, v + k + s * b);
  double* const to_t = &to.t[k / (b / 2) * Diamond::ldt + 2 * (k % (b / 2))];
#pragma unroll
  for (int r = 0; r < b; r += t_rows) copy_16(to_t + r * Diamond::ldt, t + 2 * k + r * b);
  asm volatile("cp.async.commit_group;");
}

/// 64 rows x 16 columns of E: of 16 rows each, thread (g, q) has rows 4 q .. 4 q + 3 of columns g and g + 8. Tile 0 of
/// the 16 rows is the even ones, tile 1 the odd ones: numbers [tile][column's half][pair].
struct Rows {
  double at[4][2][4];  ///< [16 rows][tile][2 (column half) + pair]
};

/// Rows on their way from and to memory: [column][row].
struct Staged {
  static constexpr int ld = 66;
  double at[16 * ld];
};

__device__ inline bool all_inside(const Q2& p, long row, int column) {
  return row + bandwidth <= p.n && column + 16 <= p.columns;
}
/// 64 rows of 16 columns into `staged`, zeros outside E; not waited for.
__device__ inline void fetch_rows(Staged& staged, const Q2& p, long row, int column) {
  const int lane = threadIdx.x % 32;
  const double* from = p.e + row + lane + column * p.lde;
  double* const to = &staged.at[lane];
  if (all_inside(p, row, column)) {
#pragma unroll
    for (int c = 0; c < 16; ++c, from += p.lde) {
      copy_8(to + c * Staged::ld, from);
      copy_8(to + c * Staged::ld + 32, from + 32);
    }
    return;
  }
#pragma unroll 1
  for (int k = 0; k < 32; ++k) {
    const int c = k / 2, r = k % 2 * 32;
    const bool inside = row + lane + r < p.n && column + c < p.columns;
    const unsigned at = __cvta_generic_to_shared(to + c * Staged::ld + r);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(at), "l"(inside ? from + r + c * p.lde : p.e),
                 "r"(inside ? 8 : 0));
  }
}
__device__ inline void write_rows(const Staged& staged, const Q2& p, long row, int column) {
  const int lane = threadIdx.x % 32;
  double* to = p.e + row + lane + column * p.lde;
  const double* const from = &staged.at[lane];
  if (all_inside(p, row, column)) {
#pragma unroll
    for (int c = 0; c < 16; ++c, to += p.lde) {
      to[0] = from[c * Staged::ld];
      to[32] = from[c * Staged::ld + 32];
    }
    return;
  }
#pragma unroll 1
  for (int k = 0; k < 32; ++k) {
    const int c = k / 2, r = k % 2 * 32;
    if (row + lane + r < p.n && column + c < p.columns) to[r + c * p.lde] = from[c * Staged::ld + r];
  }
}
/// A thread's numbers of `rows` and of `staged` change places; or one takes the other's.
enum class Move { exchange, to_rows, to_staged };
template <Move move>
__device__ inline void move_rows(Rows& rows, Staged& staged) {
  const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      double2* const place = reinterpret_cast<double2*>(&staged.at[(g + 8 * half) * Staged::ld + 16 * k + 4 * q]);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        double &even = rows.at[k][0][2 * half + pair], &odd = rows.at[k][1][2 * half + pair];
        double2 in;
        if constexpr (move != Move::to_staged) in = place[pair];
        if constexpr (move != Move::to_rows) place[pair] = {even, odd};
        if constexpr (move != Move::to_staged) {
          even = in.x;
          odd = in.y;
        }
      }
    }
  }
}

/// E -= V T V^T E on the rows of `low` and, 64 further down, `high`.
__device__ inline void apply_diamond(Rows& low, Rows& high, const Diamond& d) {
  const int g = threadIdx.x % 32 / 4, q = threadIdx.x % 4;
  double x[8][4] = {};  // (V^T E)^T: [8 sweeps][]
#pragma unroll
  for (int r = 0; r < 8; ++r) {  // 16 rows
    const auto& rows = (r < 4 ? low : high).at[r % 4];
#pragma unroll
    for (int i = 0; i < 8; ++i) {  // sweeps 8 i + g
      if (r < i / 2 || r > i / 2 + 4) continue;
      const double2* const from =
          reinterpret_cast<const double2*>(&d.v[(8 * i + g) * Diamond::ldv + 16 * (r - i / 2) + 4 * q]);
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const double2 v = from[pair];
        mma(x[i], rows[0][pair], rows[0][2 + pair], v.x);
        mma(x[i], rows[1][pair], rows[1][2 + pair], v.y);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {  // T X, 16 sweeps at a time, in place: T is upper triangular
    double y[2][4] = {};
#pragma unroll
    for (int k = 2 * i; k < 8; ++k) {  // sweeps 8 k + 2 q, + 1
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const double2 t = *reinterpret_cast<const double2*>(&d.t[(16 * i + 8 * h + g) * Diamond::ldt + 8 * k + 2 * q]);
        mma(y[h], x[k][0], x[k][2], t.x);
        mma(y[h], x[k][1], x[k][3], t.y);
      }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
#pragma unroll
      for (int j = 0; j < 4; ++j) x[2 * i + h][j] = -y[h][j];
    }
  }
#pragma unroll
  for (int k = 0; k < 8; ++k) {  // sweeps 8 k + 2 q, + 1
#pragma unroll
    for (int r = k / 2; r < k / 2 + 5 && r < 8; ++r) {
      auto& rows = (r < 4 ? low : high).at[r % 4];
      const double* const from = &d.v[(8 * k + 2 * q) * Diamond::ldv + 16 * (r - k / 2) + 2 * g];
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const double2 v = *reinterpret_cast<const double2*>(from + pair * Diamond::ldv);
        mma(rows[0], x[k][pair], x[k][2 + pair], v.x);
        mma(rows[1], x[k][pair], x[k][2 + pair], v.y);
      }
    }
  }
}

/// The first 128 rows of a group.
__device__ inline void first_rows(Rows (&rows)[2], Staged& staged, const Q2& p, long row, int column) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    fetch_rows(staged, p, row + half * bandwidth, column);
    asm volatile("cp.async.wait_all;");
    __syncwarp();
    move_rows<Move::to_rows>(rows[half], staged);
    __syncwarp();
  }
}
/// The rows `low` leave for those that have been fetched; without `more` of these `high` leave too.
__device__ inline void pass_rows(Rows& low, Rows& high, bool more, Staged& staged, const Q2& p, long row, int column) {
  __syncwarp();
  if (more) {
    move_rows<Move::exchange>(low, staged);
  } else {
    move_rows<Move::to_staged>(low, staged);
  }
  __syncwarp();
  write_rows(staged, p, row, column);
  __syncwarp();
  if (more) return;
  move_rows<Move::to_staged>(high, staged);
  __syncwarp();
  write_rows(staged, p, row + bandwidth, column);
}

__global__ void __launch_bounds__(q2_threads, 1) apply_diamonds(const __grid_constant__ Q2 p) {
  constexpr int b = bandwidth;
  extern __shared__ double2 shared_bytes[];
  Diamond* const diamonds = reinterpret_cast<Diamond*>(shared_bytes);  // two
  for (int k = threadIdx.x; k < int(2 * sizeof(Diamond) / sizeof(double)); k += q2_threads) {
    reinterpret_cast<double*>(diamonds)[k] = 0;
  }
  const int warp = threadIdx.x / 32;
  const bool busy = warp < p.warps;
  Staged& staged = reinterpret_cast<Staged*>(diamonds + 2)[busy ? warp : 0];  // of busy warps only
  for (int piece = p.begin[blockIdx.x]; piece < p.begin[blockIdx.x + 1]; ++piece) {
    const Piece mine = p.pieces[piece];
    const int column = (mine.panel * p.warps + warp) * 16;
    if (mine.waits) {
      if (threadIdx.x == 0) {
        ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.done[mine.panel]);
        while (done.load(::cuda::memory_order_acquire) == 0) {
        }
      }
    }
    for (long group = mine.first - 1; group >= mine.last; --group) {
      const int steps = steps_of_sweep(p.n, group * b);
      const long base = diamond_base(p.n, group);
      long row = group * b + 1;
      __syncthreads();
      const auto copy = [&](int step) {
        copy_diamond(diamonds[step % 2], p.v + (base + step) * b * b, p.t + (base + step) * b * b);
      };
      copy(0);
      Rows rows[2];
      if (busy) first_rows(rows, staged, p, row, column);
      asm volatile("cp.async.wait_all;");  // every thread for what it has copied, before the barrier of advance()
      const auto advance = [&](int step, Rows& low, Rows& high) {
        const bool more = step + 1 < steps;
        __syncthreads();  // this diamond is there, and the other's place is free
        if (more) copy(step + 1);
        if (busy && more) fetch_rows(staged, p, row + 2 * b, column);
        if (busy) apply_diamond(low, high, diamonds[step % 2]);
        asm volatile("cp.async.wait_all;");
        if (busy) pass_rows(low, high, more, staged, p, row, column);
        row += b;
      };
      for (int step = 0; step < steps; step += 2) {
        advance(step, rows[0], rows[1]);
        if (step + 1 < steps) advance(step + 1, rows[1], rows[0]);
      }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && mine.last > 0) {
      ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.done[mine.panel]);
      done.store(1, ::cuda::memory_order_release);
    }
  }
}

/// The pieces of each block: equal parts of the work, cut where they must be. A panel that is cut is begun by a block
/// as its first piece and ended by the block before as its last one (McNaughton's rule), which seldom waits.
inline void cut_panels(int n, int panels, int blocks, std::vector<Piece>& pieces, std::vector<int>& begin) {
  const int groups = groups_of(n);
  const double whole = diamond_base(n, groups), part = whole * panels / blocks;
  const auto group_at = [&](double done) {  // first groups are the short ones, from the last
    int g = groups;
    double sum = 0;
    while (g > 0 && sum + steps_of_sweep(n, (g - 1) * long(bandwidth)) / 2.0 < done)
      sum += steps_of_sweep(n, --g * long(bandwidth));
    return g;
  };
  // Block k has the work from k part to (k + 1) part of the panels in a row; in each panel the end comes first.
  std::vector<std::vector<Piece>> of(blocks);
  for (int panel = 0; panel < panels; ++panel) {
    const double from = panel * whole, to = from + whole;
    const int first = std::min<int>(blocks - 1, from / part),
              last = std::min<int>(blocks - 1, (to - whole * 1e-9) / part);
    if (first == last) {
      of[first].push_back({panel, groups, 0, 0});
    } else {                                       // part >= whole: two blocks at most
      const int cut = group_at(to - last * part);  // what the later block does, first
      if (cut < groups) of[last].insert(of[last].begin(), {panel, groups, cut, 0});
      if (cut > 0) of[first].push_back({panel, cut, 0, cut < groups});
    }
  }
  pieces.clear();
  begin.assign(1, 0);
  for (const auto& block : of) {
    pieces.insert(pieces.end(), block.begin(), block.end());
    begin.push_back(pieces.size());
  }
}

/// T of every diamond.
template <class T>
cuda::DeviceArray<T> form_all_diamonds(std::int64_t n, const T* v, const T* tau) {
  constexpr int b = bandwidth, bytes = forming_bytes<T>;
  static_assert(bytes <= most_shared_bytes<T>);
  const std::int64_t diamonds = diamond_base(n, groups_of(n));
  auto t = device_array<T>(diamonds * b * b);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(form_diamonds<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  form_diamonds<T><<<unsigned(diamonds), 256, bytes, cuda::stream()>>>(v, tau, t.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  return t;
}

template <class T>
void run_plainly(std::int64_t n, const T* v, const T* t, T* e, std::int64_t lde, std::int64_t count) {
  constexpr int bytes = sizeof(PlainTile<T>);
  static_assert(bytes <= most_shared_bytes<T>);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(apply_plainly<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned blocks = unsigned((count + plain_columns - 1) / plain_columns);
  apply_plainly<T><<<blocks, plain_threads, bytes, cuda::stream()>>>(int(n), v, t, e, lde, int(count));
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
}

void run(std::int64_t n, const double* v, const double* t, double* e, std::int64_t lde, std::int64_t count) {
  const int room = (shared_memory_limit() - 1024 - 2 * int(sizeof(Diamond))) / int(sizeof(Staged));
  if (room < 4) return run_plainly(n, v, t, e, lde, count);
  const int tiles = int((count + 15) / 16), all = processors();
  const int warps = std::clamp((tiles + all - 1) / all, 1, std::min(room, 8));
  const int panels = (tiles + warps - 1) / warps, blocks = std::min(panels, all);
  std::vector<Piece> pieces;
  std::vector<int> begin;
  cut_panels(int(n), panels, blocks, pieces, begin);
  const auto pieces_there = cuda::sent(pieces, "an eigenproblem", "");
  const auto begin_there = cuda::sent(begin, "an eigenproblem", "");
  const auto done = zeros<int>(panels);
  Q2 q2{v, t, e, lde, int(n), int(count), warps, pieces_there.get(), begin_there.get(), done.get()};
  const int bytes = 2 * int(sizeof(Diamond)) + warps * int(sizeof(Staged));
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(apply_diamonds, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  void* arguments[] = {&q2};
  QUADRILLE_CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(&apply_diamonds),
                                                   dim3(unsigned(blocks)), dim3(q2_threads), arguments,
                                                   std::size_t(bytes), cuda::stream()));
}
void run(std::int64_t n, const Complex* v, const Complex* t, Complex* e, std::int64_t lde, std::int64_t count) {
  run_plainly(n, v, t, e, lde, count);
}

}  // namespace

template <class T>
void apply_q2(std::int64_t n, const T* v, const T* tau, T* e, std::int64_t lde, std::int64_t count) {
  if (n < 2 || count == 0) return;
  const auto t = form_all_diamonds(n, v, tau);
  run(n, v, t.get(), e, lde, count);
}

template void apply_q2(std::int64_t, const double*, const double*, double*, std::int64_t, std::int64_t);
template void apply_q2(std::int64_t, const Complex*, const Complex*, Complex*, std::int64_t, std::int64_t);

}  // namespace quadrille::eigen
