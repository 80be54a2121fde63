// Back-transformation by the reflections of bulge chasing: E <- Q2 E.
//
// E takes the last group of sweeps first, and within a group the first step first. A warp keeps 128 rows of 16 columns
// of E (complex, and where 16 would leave tensor cores idle: 8) in its registers and slides over the rows: 64 rows
// leave and 64 enter for each diamond, so E passes memory once a group. E^T is the left factor and the result of
// mma.m16n8k4 (8 columns: m8n8k4), whose terms may come in any order: a thread's part of a result is its part of the
// next left factor. Warps share what they read of the diamonds, a ring of halves in shared memory: who is the last to
// be done with one asks for the next in its place. Otherwise warps do not wait for each other, so that one moves rows
// while another multiplies.
#include "modules/eigen/cuda/bulge/apply_q2.h"
#include "modules/eigen/cuda/bulge/diamonds.cuh"
#include "modules/eigen/cuda/bulge/ring.cuh"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/device_needs.h"

#include <cuda/atomic>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace quadrille::eigen {
namespace {

constexpr int most_warps = 8;
/// Of E that a warp has in G groups of 8: 8 or 16 real ones, or real and imaginary parts of 8 (G = 2).
template <class T, int G>
constexpr int tile_columns = 8 * G * sizeof(double) / sizeof(T);

/// Groups first > group >= last of a panel of columns.
struct Piece {
  int panel, first, last, waits;  ///< waits: the panel's groups before were done by another block
};
template <class T>
struct Q2 {
  const HalfDiamond<T>* halves;  ///< from the first one of the group `lowest` on
  T* e;                          ///< n x columns, leading dimension lde
  long lde;
  int n, columns;
  int lowest;  ///< group
  int depth;   ///< of the ring
  const Piece* pieces;
  const int* begin;  ///< of each block's pieces, and the end
  int* done;         ///< panels: 1 when the first of two blocks has done its groups; zero at the start
};

/// C += A B of 8 G x 4 and 4 x 8 numbers; a: of the rows g and g + 8. (The form with 16 terms wants its operands in
/// more consecutive registers than moves are worth here.)
__device__ inline void mma(double (&c)[2], double a, double b) {
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a), "d"(b));
}
__device__ inline void mma(double (&c)[4], double2 a, double b) {
#if __CUDA_ARCH__ >= 900
  asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5}, {%6}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a.x), "d"(a.y), "d"(b));
#else
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[0]), "+d"(c[1])
      : "d"(a.x), "d"(b));
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
      : "+d"(c[2]), "+d"(c[3])
      : "d"(a.y), "d"(b));
#endif
}

/// 8 G columns of E: thread (g, q) has numbers of column g and, for G = 2, of g + 8, of a complex number the real and
/// the imaginary part. Of 16 rows these are rows 4 q .. 4 q + 3; tile 0 has the even ones, tile 1 the odd ones, which
/// are the pairs 0 and 1. Results of mma() are [pair of g, pair of g + 8].
template <int G>
using Tile = double[2 * G];
/// The thread's numbers of one row.
template <int G>
using Across = std::conditional_t<G == 1, double, double2>;
__device__ inline double left_factor(const double (&tile)[2], int pair) { return tile[pair]; }
__device__ inline double2 left_factor(const double (&tile)[4], int pair) { return {tile[pair], tile[2 + pair]}; }
__device__ inline void set_pair(double (&tile)[2], int pair, double a) { tile[pair] = a; }
__device__ inline void set_pair(double (&tile)[4], int pair, double2 a) {
  tile[pair] = a.x;
  tile[2 + pair] = a.y;
}
__device__ inline double minus(double a) { return -a; }
__device__ inline double2 minus(double2 a) { return {-a.x, -a.y}; }
/// `a` times 1 for part 0, times `by` i for part 1, of a complex number.
template <int by, int part>
__device__ inline double2 turned(double2 a) {
  return part == 0 ? a : double2{-by * a.y, by * a.x};
}
template <int by, int part>
__device__ inline double turned(double a) {
  static_assert(part == 0, "complex numbers have two groups");
  return a;
}
/// visit(part) for the parts of a number, as constants.
template <int parts, class Visit>
__device__ inline void for_parts(Visit&& visit) {
  visit(std::integral_constant<int, 0>());
  if constexpr (parts == 2) visit(std::integral_constant<int, 1>());
}

/// 64 rows.
template <int G>
struct Rows {
  Tile<G> at[4][2];  ///< [16 rows][tile]
};

/// Rows on their way from and to memory: columns g and g + 8 side by side, rows in the order in which the threads of a
/// warp that take them meet no conflicts of banks.
template <int G>
struct Staged {
  static constexpr int ld = 68 * G;
  double at[8 * ld];

  static __device__ int place(int row) { return G * (row / 16 * 16 + row % 4 * 4 + row % 16 / 4); }
  static constexpr __device__ int column(int c) { return c % 8 * ld + c / 8; }
};

/// The thread's lane, so that places which follow from it are computed where they are needed: kept for the whole loop
/// they would take registers that E needs.
__device__ inline int lane_now() {
  int lane = int(threadIdx.x % 32);
  asm volatile("" : "+r"(lane));
  return lane;
}

/// A warp's columns.
template <class T>
struct Strip {
  T* e;  ///< its first column
  long lde;
  int n, columns;  ///< from `e` on there are `columns`, 1 at least
};

/// 64 rows into `staged`, zeros below E, anything beyond its last column; not waited for.
template <int G, class T>
__device__ inline void fetch_rows(Staged<G>& staged, const Strip<T>& strip, long row) {
  const int lane = lane_now();
  const T* from = strip.e + row + lane;
  double* const to = &staged.at[Staged<G>::place(lane)];
  const bool inside[2] = {row + lane < strip.n, row + lane + 32 < strip.n};
#pragma unroll 4
  for (int c = 0; c < tile_columns<T, G>; ++c) {
    copy_async(to + Staged<G>::column(c), from, inside[0]);
    copy_async(to + Staged<G>::column(c) + 32 * G, from + 32, inside[1]);
    if (c + 1 < strip.columns) from += strip.lde;
  }
}
__device__ inline void take(double& to, const double* from) { to = *from; }
__device__ inline void take(Complex& to, const double* from) { to = *reinterpret_cast<const Complex*>(from); }
template <int G, class T>
__device__ inline void write_rows(const Staged<G>& staged, const Strip<T>& strip, long row) {
  const int lane = lane_now();
  T* to = strip.e + row + lane;
  const double* const from = &staged.at[Staged<G>::place(lane)];
  const bool inside[2] = {row + lane < strip.n, row + lane + 32 < strip.n};
#pragma unroll 4
  for (int c = 0; c < tile_columns<T, G>; ++c, to += strip.lde) {
    if (c >= strip.columns) break;
    if (inside[0]) take(to[0], from + Staged<G>::column(c));
    if (inside[1]) take(to[32], from + Staged<G>::column(c) + 32 * G);
  }
}
/// 128 rows.
template <int G>
struct Window {
  Rows<G> low, high;
};
/// in: `rows` are taken from `staged`; out: the other way; slide: `staged` takes `rows`, which take `next`, which take
/// what `staged` had.
enum class Move { in, out, slide };
template <Move move, int G>
__device__ inline void move_rows(Rows<G>& rows, Rows<G>& next, Staged<G>& staged) {
  const int lane = lane_now(), g = lane / 4, q = lane % 4;
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {  // row 4 q + j
      auto& there = *reinterpret_cast<Across<G>*>(&staged.at[g * Staged<G>::ld + G * (16 * k + 4 * j + q)]);
      Tile<G>&tile = rows.at[k][j % 2], &next_tile = next.at[k][j % 2];
      const int pair = j / 2;
      Across<G> in;
      if constexpr (move != Move::out) in = there;
      if constexpr (move != Move::in) there = left_factor(tile, pair);
      if constexpr (move == Move::in) set_pair(tile, pair, in);
      if constexpr (move == Move::slide) {
        set_pair(tile, pair, left_factor(next_tile, pair));
        set_pair(next_tile, pair, in);
      }
    }
  }
}

/// E -= V T V^H E on 96 rows: those of `rows`, of 16 each. A product has several results in turns, so that it need not
/// wait for the one before.
template <int G, class T>
__device__ inline void apply_half(Tile<G>* const (&rows)[6], const HalfDiamond<T>& d) {
  constexpr int parts = HalfDiamond<T>::parts, ldv = HalfDiamond<T>::ldv, ldt = HalfDiamond<T>::ldt;
  const int lane = lane_now(), g = lane / 4, q = lane % 4;
  Tile<G> x[4] = {};  // (V^H E)^T: [8 sweeps]
#pragma unroll
  for (int r = 0; r < 6; ++r) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      for_parts<parts>([&](auto part) {
        double2 v[4];
#pragma unroll
        for (int i = 0; i < 4; ++i) {  // sweeps 8 i + g
          if (r < i / 2 || r > i / 2 + 4) continue;
          v[i] = *reinterpret_cast<const double2*>(&d.v[part][(8 * i + g) * ldv + 16 * (r - i / 2) + 4 * q + 2 * pair]);
        }
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
          const Across<G> left = turned<-1, part>(left_factor(rows[r][tile], pair));
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            if (r >= i / 2 && r <= i / 2 + 4) mma(x[i], left, tile == 0 ? v[i].x : v[i].y);
          }
        }
      });
    }
  }
  Tile<G> y[4] = {};  // (T V^H E)^T, T upper triangular
#pragma unroll
  for (int k = 0; k < 4; ++k) {  // sweeps 8 k + 2 q, + 1
    const int some = k < 2 ? 2 : 4;
    for_parts<parts>([&](auto part) {
      double2 t[4];
#pragma unroll
      for (int i = 0; i < some; ++i) {
        t[i] = *reinterpret_cast<const double2*>(&d.t[part][(8 * i + g) * ldt + 8 * k + 2 * q]);
      }
#pragma unroll
      for (int pair = 0; pair < 2; ++pair) {
        const Across<G> left = turned<1, part>(left_factor(x[k], pair));
#pragma unroll
        for (int i = 0; i < some; ++i) mma(y[i], left, pair == 0 ? t[i].x : t[i].y);
      }
    });
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {  // sweep 8 k + 2 q + pair
      for_parts<parts>([&](auto part) {
        double2 v[5];
#pragma unroll
        for (int r = 0; r < 5; ++r) {
          v[r] = *reinterpret_cast<const double2*>(&d.v[part][(8 * k + 2 * q + pair) * ldv + 16 * r + 2 * g]);
        }
        const Across<G> left = turned<1, part>(minus(left_factor(y[k], pair)));
#pragma unroll
        for (int tile = 0; tile < 2; ++tile) {
#pragma unroll
          for (int r = 0; r < 5; ++r) mma(rows[r + k / 2][tile], left, tile == 0 ? v[r].x : v[r].y);
        }
      });
    }
  }
}

/// The first 128 rows of a group.
template <int G, class T>
__device__ inline void first_rows(Window<G>& window, Staged<G>& staged, const Strip<T>& strip, long row) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    Rows<G>& rows = half == 0 ? window.low : window.high;
    fetch_rows(staged, strip, row + half * bandwidth);
    asm volatile("cp.async.wait_all;");
    __syncwarp();
    move_rows<Move::in>(rows, rows, staged);
    __syncwarp();
  }
}
/// The low rows leave, and those that have been fetched enter; without `more` of these the high ones leave, too.
template <int G, class T>
__device__ inline void slide(Window<G>& window, bool more, Staged<G>& staged, const Strip<T>& strip, long row) {
  asm volatile("cp.async.wait_all;");
  __syncwarp();
  move_rows<Move::slide>(window.low, window.high, staged);
  __syncwarp();
  write_rows(staged, strip, row);
  __syncwarp();
  if (more) return;
  move_rows<Move::out>(window.low, window.low, staged);
  __syncwarp();
  write_rows(staged, strip, row + bandwidth);
  __syncwarp();
}

/// The halves of the groups first > group >= last one after the other; those of a group are next to each other.
template <class T>
struct Halves {
  const HalfDiamond<T>* of_lowest;  ///< the first one of the group `lowest`
  int n, lowest, group, last;
  const HalfDiamond<T>* at = nullptr;
  int left = 0;  ///< of the group

  __device__ const HalfDiamond<T>* next() {  // null at the end
    if (left == 0) {
      if (group == last) return nullptr;
      --group;
      at = of_lowest + 2 * (diamond_base(n, group) - diamond_base(n, lowest));
      left = 2 * int(steps_of_sweep(n, long(group) * bandwidth));
    }
    --left;
    return at++;
  }
};

template <class T, int G>
__global__ void __launch_bounds__(32 * most_warps, 1) apply_diamonds(const __grid_constant__ Q2<T> p) {
  constexpr int b = bandwidth;
  extern __shared__ double2 shared_bytes[];
  auto* const halves = reinterpret_cast<HalfDiamond<T>*>(shared_bytes);
  using HalfRing = Ring<HalfDiamond<T>, Halves<T>>;
  __shared__ typename HalfRing::State state;
  const int warp = threadIdx.x / 32, warps = blockDim.x / 32;
  Staged<G>& staged = reinterpret_cast<Staged<G>*>(halves + p.depth)[warp];
  HalfRing ring(state, halves, p.depth);
  for (int k = p.begin[blockIdx.x]; k < p.begin[blockIdx.x + 1]; ++k) {
    const Piece piece = p.pieces[k];
    const int column = (piece.panel * warps + warp) * tile_columns<T, G>;
    const bool busy = column < p.columns;
    const Strip<T> strip{p.e + column * p.lde, p.lde, p.n, p.columns - column};
    if (piece.waits && threadIdx.x == 0) {
      ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.done[piece.panel]);
      while (done.load(::cuda::memory_order_acquire) == 0) {
      }
    }
    ring.begin({p.halves, p.n, p.lowest, piece.first, piece.last});
    for (long group = piece.first - 1; group >= piece.last; --group) {
      const int steps = steps_of_sweep(p.n, group * b);
      long row = group * b + 1;
      Window<G> window;
      Rows<G>&low = window.low, &high = window.high;
      Tile<G>* const latter[6] = {low.at[2], low.at[3], high.at[0], high.at[1], high.at[2], high.at[3]};
      Tile<G>* const former[6] = {low.at[0], low.at[1], low.at[2], low.at[3], high.at[0], high.at[1]};
      if (busy) first_rows(window, staged, strip, row);
#pragma unroll 1
      for (int step = 0; step < steps; ++step, row += b) {
        const bool more = step + 1 < steps;
        if (busy && more) fetch_rows(staged, strip, row + 2 * b);
        ring.wait();
        if (busy) apply_half<G>(latter, ring.front());
        ring.release();
        ring.wait();
        if (busy) apply_half<G>(former, ring.front());
        ring.release();
        if (busy) slide(window, more, staged, strip, row);
      }
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && piece.last > p.lowest) {
      ::cuda::atomic_ref<int, ::cuda::thread_scope_device> done(p.done[piece.panel]);
      done.store(1, ::cuda::memory_order_release);
    }
  }
}

/// The groups [lowest, highest) of each panel, cut into pieces for `blocks` blocks: equal parts of the work. A panel
/// that is cut is begun by a block as its first piece and ended by the block before as its last one (McNaughton's
/// rule), which seldom waits.
struct Cut {
  std::vector<Piece> pieces;
  std::vector<int> begin;
};
inline Cut cut_panels(int n, int lowest, int highest, int panels, int blocks) {
  const double whole = diamond_base(n, highest) - diamond_base(n, lowest), part = whole * panels / blocks;
  const auto group_at = [&](double done) {  // first groups are the short ones, from the last
    int g = highest;
    double sum = 0;
    while (g > lowest && sum + steps_of_sweep(n, (g - 1) * long(bandwidth)) / 2.0 < done)
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
      of[first].push_back({panel, highest, lowest, 0});
    } else {                                       // part >= whole: two blocks at most
      const int cut = group_at(to - last * part);  // what the later block does, first
      if (cut < highest) of[last].insert(of[last].begin(), {panel, highest, cut, 0});
      if (cut > lowest) of[first].push_back({panel, cut, lowest, cut < highest});
    }
  }
  Cut out{{}, {0}};
  for (const auto& block : of) {
    out.pieces.insert(out.pieces.end(), block.begin(), block.end());
    out.begin.push_back(int(out.pieces.size()));
  }
  return out;
}

/// How the columns of E are shared out: `warps` a panel, one panel a block at a time; and the ring's halves.
struct Shape {
  int warps, panels, blocks, depth, bytes;
};
template <class T, int G>
Shape shape_for(std::int64_t count) {
  constexpr int half = sizeof(HalfDiamond<T>), staged = sizeof(Staged<G>);
  const int room = shared_memory_limit() - 1024, deep = HalfDiamond<T>::parts == 1 ? 4 : 2;
  const int depth = room >= deep * half + most_warps * staged ? deep : 2, most = (room - depth * half) / staged;
  const int tiles = int((count + tile_columns<T, G> - 1) / tile_columns<T, G>), all = processors();
  const int warps = std::clamp((tiles + all - 1) / all, 1, std::min(most, most_warps));
  const int panels = (tiles + warps - 1) / warps;
  return {warps, panels, std::min(panels, all), depth, depth * half + warps * staged};
}

/// Groups of sweeps [lowest, highest), whose diamonds are `halves`.
template <class T>
struct Groups {
  int lowest, highest;
  const HalfDiamond<T>* halves;
};

template <class T, int G>
void apply_groups(const Groups<T>& groups, std::int64_t n, T* e, std::int64_t lde, std::int64_t count) {
  const Shape shape = shape_for<T, G>(count);
  const Cut cut = cut_panels(int(n), groups.lowest, groups.highest, shape.panels, shape.blocks);
  const auto pieces = cuda::sent(cut.pieces, "an eigenproblem", "");
  const auto begin = cuda::sent(cut.begin, "an eigenproblem", "");
  const auto done = zeros<int>(shape.panels);
  Q2<T> q2{groups.halves, e,           lde,          int(n),      int(count),
           groups.lowest, shape.depth, pieces.get(), begin.get(), done.get()};
  void* arguments[] = {&q2};
  const auto* const kernel = reinterpret_cast<const void*>(&apply_diamonds<T, G>);
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, shape.bytes));
  QUADRILLE_CUDA_CHECK(cudaLaunchCooperativeKernel(kernel, dim3(unsigned(shape.blocks)),
                                                   dim3(unsigned(32 * shape.warps)), arguments,
                                                   std::size_t(shape.bytes), cuda::stream()));
}

/// Whether warps with 16 columns each would leave half of the tensor cores idle, of which a processor has four.
template <class T>
bool takes_narrow_tiles(std::int64_t count) {
  return sizeof(T) == sizeof(double) && count <= 2 * processors() * tile_columns<T, 2>;
}

}  // namespace

template <class T>
void apply_q2(std::int64_t n, const T* v, const T* tau, T* e, std::int64_t lde, std::int64_t count) {
  if (n < 2 || count == 0) return;
  constexpr int b = bandwidth, forming = forming_bytes<T>;
  static_assert(forming <= most_shared_bytes<T> &&
                2 * sizeof(HalfDiamond<T>) + sizeof(Staged<2>) <= most_shared_bytes<T>);
  const int groups = int(groups_of(n));
  QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(form_diamonds<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, forming));
  // Some groups at a time, so that their diamonds take no more memory than v; one at least.
  const std::int64_t longest = steps_of_sweep(n, 0);
  const std::int64_t most = std::max<std::int64_t>(
      longest, diamond_base(n, groups) * b * b * std::int64_t(sizeof(T)) / std::int64_t(2 * sizeof(HalfDiamond<T>)));
  const auto halves = device_array<HalfDiamond<T>>(2 * most);
  for (int highest = groups; highest > 0;) {
    int lowest = highest - 1;
    while (lowest > 0 && diamond_base(n, highest) - diamond_base(n, lowest - 1) <= most) --lowest;
    const std::int64_t first = diamond_base(n, lowest), diamonds = diamond_base(n, highest) - first;
    form_diamonds<T>
        <<<unsigned(diamonds), 256, forming, cuda::stream()>>>(v + first * b * b, tau + first * b, halves.get());
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
    const Groups<T> some{lowest, highest, halves.get()};
    if (takes_narrow_tiles<T>(count)) {
      if constexpr (sizeof(T) == sizeof(double)) apply_groups<T, 1>(some, n, e, lde, count);
    } else {
      apply_groups<T, 2>(some, n, e, lde, count);
    }
    highest = lowest;
  }
}

template void apply_q2(std::int64_t, const double*, const double*, double*, std::int64_t, std::int64_t);
template void apply_q2(std::int64_t, const Complex*, const Complex*, Complex*, std::int64_t, std::int64_t);

}  // namespace quadrille::eigen
