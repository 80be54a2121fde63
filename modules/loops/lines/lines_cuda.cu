// Steps of lines on the device: a thread does one site.
#define QUADRILLE_ISA device
#include "core/backend/cuda/reduce.cuh"
#include "core/backend/cuda/runtime.h"
#include "core/gauge/around/grouped_surroundings.h"
#include "modules/loops/lines/line_math.h"
#include "modules/loops/lines/lines_cuda.h"

namespace quadrille::loops {
namespace {

constexpr int threads = 128;
using Links = GroupedSurroundings<double, 18>;
using One = GroupedSurroundings<double, 18, 1>;

/// A thread's site: the second half of the blocks is of odd parity.
struct Place {
  int parity, item;
};
__device__ __forceinline__ Place place_of_thread() {
  const int half = int(gridDim.x) / 2, block = int(blockIdx.x), parity = block < half ? 0 : 1;
  return {parity, (block - parity * half) * threads + int(threadIdx.x)};
}
unsigned blocks_for(const GroupedLinks& field) { return 2 * unsigned((field.own.sites + threads - 1) / threads); }

/// Calls make(parity, item, matrix) for the site of this thread, which gives what to write.
template <class Make>
__device__ __forceinline__ void write_matrix(const GroupedLinks& to, const Make& make) {
  const Place place = place_of_thread();
  if (place.item >= to.own.sites) return;
  double buffer[18];
  const double* const matrix = make(place.parity, place.item, buffer);
  store_link<double, 18, 1>(to, place.parity, One(to, place.parity, place.item).site(), 0, matrix);
}

__global__ void __launch_bounds__(threads)
    copy_links(const __grid_constant__ GroupedLinks links, int mu, const __grid_constant__ GroupedLinks to) {
  write_matrix(to, [&](int parity, int item, double* out) { return Links(links, parity, item).here(mu, out); });
}

__global__ void __launch_bounds__(threads) copy_links_ahead(const __grid_constant__ GroupedLinks links, int mu, int nu,
                                                            const __grid_constant__ GroupedLinks to) {
  write_matrix(to, [&](int parity, int item, double* out) { return Links(links, parity, item).shifted(mu, nu, out); });
}

__global__ void __launch_bounds__(threads)
    shift_matrices(const __grid_constant__ GroupedLinks from, int mu, const __grid_constant__ GroupedLinks to) {
  write_matrix(to, [&](int parity, int item, double* out) { return One(from, parity, item).shifted(mu, 0, out); });
}

__global__ void __launch_bounds__(threads)
    extend_lines(const __grid_constant__ GroupedLinks links, const __grid_constant__ GroupedLinks line, int mu,
                 const __grid_constant__ GroupedLinks to) {
  write_matrix(to, [&](int parity, int item, double* out) {
    extended_line<double, 1>(out, Links(links, parity, item), One(line, parity, item), mu);
    return static_cast<const double*>(out);
  });
}

__global__ void __launch_bounds__(threads)
    lift(const __grid_constant__ GroupedLinks links, const __grid_constant__ GroupedLinks edge,
         const __grid_constant__ GroupedLinks side, const __grid_constant__ GroupedLinks line, int nu,
         const __grid_constant__ GroupedLinks to, const __grid_constant__ cuda::Reduction reduction) {
  double loop = 0;
  write_matrix(to, [&](int parity, int item, double* out) {
    const auto one = [&](const GroupedLinks& of) { return One(of, parity, item); };
    loop = lifted_edge<double, 1>(out, Links(links, parity, item), one(edge), one(side), one(line), nu);
    return static_cast<const double*>(out);
  });
  cuda::reduce<1, threads>(&loop, reduction);
}

__global__ void __launch_bounds__(threads)
    trace(const __grid_constant__ GroupedLinks line, const __grid_constant__ cuda::Reduction reduction) {
  double sums[2] = {}, m[18];
  const Place place = place_of_thread();
  if (place.item < line.own.sites) {
    One(line, place.parity, place.item).here(0, m);
    sums[0] = m[0] + m[8] + m[16];
    sums[1] = m[1] + m[9] + m[17];
  }
  cuda::reduce<2, threads>(sums, reduction);
}

void launched() { cuda::check(cudaGetLastError(), "the launch of lines of links"); }

}  // namespace

void launch_copy(const GroupedLinks& links, int mu, const GroupedLinks& to) {
  copy_links<<<blocks_for(to), threads, 0, cuda::stream()>>>(links, mu, to);
  launched();
}

void launch_copy_ahead(const GroupedLinks& links, int mu, int nu, const GroupedLinks& to) {
  copy_links_ahead<<<blocks_for(to), threads, 0, cuda::stream()>>>(links, mu, nu, to);
  launched();
}

void launch_shift(const GroupedLinks& from, int mu, const GroupedLinks& to) {
  shift_matrices<<<blocks_for(to), threads, 0, cuda::stream()>>>(from, mu, to);
  launched();
}

void launch_extension(const GroupedLinks& links, const GroupedLinks& line, int mu, const GroupedLinks& to) {
  extend_lines<<<blocks_for(to), threads, 0, cuda::stream()>>>(links, line, mu, to);
  launched();
}

void lift_edges(const GroupedLinks& links, const GroupedLinks& edge, const GroupedLinks& side, const GroupedLinks& line,
                int nu, const GroupedLinks& to, double* sum) {
  const unsigned blocks = blocks_for(to);
  const cuda::Reduction reduction = cuda::begin_reduction(blocks, 1);
  lift<<<blocks, threads, 0, cuda::stream()>>>(links, edge, side, line, nu, to, reduction);
  launched();
  cuda::finish_reduction(reduction, sum, 1);
}

void sum_traces(const GroupedLinks& line, double* sums) {
  const unsigned blocks = blocks_for(line);
  const cuda::Reduction reduction = cuda::begin_reduction(blocks, 2);
  trace<<<blocks, threads, 0, cuda::stream()>>>(line, reduction);
  launched();
  cuda::finish_reduction(reduction, sums, 2);
}

}  // namespace quadrille::loops
