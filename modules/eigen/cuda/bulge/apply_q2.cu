// Back-transformation by the reflections of bulge chasing: E <- Q2 E.
//
// E takes the last group of sweeps first, and within a group the first step first. A warp has 16 columns of E (complex,
// and where 16 would leave tensor cores idle: 8) and slides over their rows (strip.cuh), so that E passes memory once a
// group. Warps share what they read of the diamonds, a ring of halves in shared memory: who is the last to be done with
// one asks for the next in its place. Otherwise warps do not wait for each other, so that one moves rows while another
// multiplies.
#include "modules/eigen/cuda/bulge/apply_q2.h"
#include "modules/eigen/cuda/bulge/diamonds.cuh"
#include "modules/eigen/cuda/bulge/ring.cuh"
#include "modules/eigen/cuda/bulge/strip.cuh"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/device_needs.h"

#include <cuda/atomic>

#include <algorithm>
#include <limits>
#include <vector>

namespace quadrille::eigen {
namespace {

constexpr int most_warps = 8;
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

/// Of a panel: a processor has four tensor cores, so that up to four warps take the same time, and more about a third
/// longer.
inline int best_warps(int tiles, int most, int blocks) {
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int warps = 1; warps <= most; ++warps) {
    const double panels = std::max(1.0, (tiles + warps - 1) / warps / double(blocks));
    const double time = panels * (warps <= 4 ? 3 : 4);
    if (time < least) {
      least = time;
      best = warps;
    }
  }
  return best;
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
  const int warps = best_warps(tiles, std::min(most, most_warps), all), panels = (tiles + warps - 1) / warps;
  return {warps, panels, std::min(panels, all), depth, depth * half + warps * staged};
}

/// Groups of sweeps [lowest, highest), whose diamonds are `halves`.
template <class T>
struct Groups {
  int lowest, highest;
  const HalfDiamond<T>* halves;
};

template <class T, int G>
void apply_in_tiles(const Groups<T>& groups, std::int64_t n, T* e, std::int64_t lde, std::int64_t count) {
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

template <class T>
void apply_groups(const Groups<T>& groups, std::int64_t n, T* e, std::int64_t lde, std::int64_t count) {
  if constexpr (HalfDiamond<T>::parts == 1) {
    // A processor has four tensor cores: two warps or fewer would leave half of them idle.
    const bool has_few = count <= 2 * processors() * tile_columns<T, 2>;
    if (has_few) return apply_in_tiles<T, 1>(groups, n, e, lde, count);
  }
  apply_in_tiles<T, 2>(groups, n, e, lde, count);
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
    apply_groups<T>({lowest, highest, halves.get()}, n, e, lde, count);
    highest = lowest;
  }
}

template void apply_q2(std::int64_t, const double*, const double*, double*, std::int64_t, std::int64_t);
template void apply_q2(std::int64_t, const Complex*, const Complex*, Complex*, std::int64_t, std::int64_t);

}  // namespace quadrille::eigen
