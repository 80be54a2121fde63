// Leaves are solved by QL iterations, one block each; merges by the secular equation, a warp a root, with the vector z
// computed anew from the roots, and products that leave out the zeros of the two halves. Deflation is decided on the
// host. Sums are in fixed order.
#include "core/error.h"
#include "modules/eigen/cuda/divide/deflation.h"
#include "modules/eigen/cuda/divide/divide.h"
#include "modules/eigen/cuda/divide/leaves.cuh"
#include "modules/eigen/cuda/divide/merges.cuh"
#include "modules/eigen/cuda/launch.h"
#include "modules/eigen/cuda/products.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

namespace quadrille::eigen {
namespace {

template <class T>
void send(const cuda::DeviceArray<T>& to, const std::vector<T>& from) {
  if (!from.empty()) cuda_backend().copy_in(to.get(), from.data(), from.size() * sizeof(T));
}

void copy_square(int n, const double* from, std::int64_t ld_from, double* to, std::int64_t ld_to) {
  constexpr std::size_t number = sizeof(double);
  QUADRILLE_CUDA_CHECK(cudaMemcpy2DAsync(to, std::size_t(ld_to) * number, from, std::size_t(ld_from) * number,
                                         std::size_t(n) * number, std::size_t(n), cudaMemcpyDeviceToDevice,
                                         cuda::stream()));
}

/// The tree of a matrix: where the blocks of each level begin, leaves last. Sizes of a level differ by one at most.
std::vector<std::vector<int>> levels_of(int n) {
  std::vector<std::vector<int>> levels{{0, n}};
  for (int largest = n; largest > leaf_size; largest -= largest / 2) {
    std::vector<int> next{0};
    const std::vector<int>& above = levels.back();
    for (std::size_t b = 0; b + 1 < above.size(); ++b) {
      next.push_back(above[b] + (above[b + 1] - above[b]) / 2);
      next.push_back(above[b + 1]);
    }
    levels.push_back(std::move(next));
  }
  return levels;
}

}  // namespace

/// The matrix while its blocks are merged.
class DivideAndConquer::Division {
 public:
  Division(std::vector<double> d, std::vector<double> e, int rank, int ranks)
      : n_(int(d.size())), rank_(rank), ranks_(ranks), d_(std::move(d)), e_(std::move(e)), levels_(levels_of(n_)) {
    while (split_ < leaves() && 1 << split_ < ranks) ++split_;
  }

  void solve_subtrees() {
    solve_leaves_here();
    for (int level = leaves() - 1; level >= split_; --level) merge_level(level, {});
  }
  std::vector<DevicePiece> found();
  TridiagonalVectors merge(const WantedVectors& wanted) {
    take_found();
    for (int level = split_ - 1; level >= 0; --level) merge_level(level, wanted);
    if (!chosen_) choose(wanted);
    return finish();
  }

 private:
  int leaves() const { return int(levels_.size()) - 1; }
  /// Who solves a block of the level at which the tree is split.
  int owner(int block) const { return int(std::int64_t(block) * ranks_ / (1 << split_)); }
  /// Whether this GPU merges a block: above the split all do it.
  bool has_merge(int level, int block) const { return level < split_ || owner(block >> (level - split_)) == rank_; }
  /// Whether there is anything that others have found.
  bool is_shared() const { return ranks_ > 1 && split_ < leaves(); }
  /// copy(first, size, packed) for the blocks of the split: their first row, size, and place in packed_.
  template <class Copy>
  void for_subtrees(Copy&& copy) {
    const std::vector<int>& blocks = levels_[split_];
    std::int64_t place = 0;
    for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
      const int first = blocks[b], size = blocks[b + 1] - first;
      copy(int(b), first, size, packed_.get() + place);
      place += std::int64_t(size) * size;
    }
  }
  void take_found();

  /// Columns of a block in rising order of their eigenvalues.
  void sort(int first, int n) {
    const auto begin = order_.begin() + first;
    std::iota(begin, begin + n, 0);
    std::stable_sort(begin, begin + n, [&](int x, int y) { return d_[first + x] < d_[first + y]; });
  }
  void choose(const WantedVectors& wanted) {
    chosen_ = true;
    out_.values.resize(n_);
    for (int i = 0; i < n_; ++i) out_.values[i] = d_[order_[i]];
    std::tie(out_.first, out_.count) = wanted(out_.values);
  }
  void solve_leaves_here();
  void merge_level(int level, const WantedVectors& wanted);
  std::vector<Merge> deflate_all(int level);
  void form_vectors(const Merge& m, bool last);
  TridiagonalVectors finish();
  void require_success() const;

  int n_, rank_, ranks_;
  std::vector<double> d_, e_;
  std::vector<std::vector<int>> levels_;
  int split_ = std::min(1, leaves());  ///< the level whose blocks GPUs share out: one or more for each, or the leaves
  bool chosen_ = false;
  std::vector<int> order_ = std::vector<int>(n_);
  std::vector<double> rest_ = std::vector<double>(n_);  ///< eigenvalues of deflated columns
  TridiagonalVectors out_;
  // On the device; Q and the packed columns first: they are the large ones.
  cuda::DeviceArray<double> q_ = zeros<double>(std::int64_t(n_) * n_),
                            packed_ = device_array<double>(std::int64_t(n_) * n_);
  cuda::DeviceArray<double> d_there_ = device_array<double>(n_), e_there_ = device_array<double>(n_),
                            z_ = device_array<double>(n_), w_ = device_array<double>(n_),
                            poles_ = device_array<double>(n_), origin_ = device_array<double>(n_),
                            offset_ = device_array<double>(n_), value_ = device_array<double>(n_);
  cuda::DeviceArray<int> column_ = device_array<int>(n_ + 1), place_ = device_array<int>(n_ + 1),
                         list_ = device_array<int>(n_ + 1), failed_ = zeros<int>(1);
  cuda::DeviceArray<Merge> merges_ = device_array<Merge>(std::int64_t(levels_.back().size()));
  cuda::DeviceArray<Rotation> rotations_ = device_array<Rotation>(n_);
  /// A tile of the right factors' columns.
  cuda::DeviceArray<double> u_ = device_array<double>(std::int64_t(n_) * std::min(n_, 2048));
};

void DivideAndConquer::Division::require_success() const {
  if (cuda::fetched(failed_.get(), 1).front() == 0) return;
  throw Error(ErrorCode::numerical, "divide and conquer of the tridiagonal matrix did not converge");
}

void DivideAndConquer::Division::solve_leaves_here() {
  const std::vector<int>& leaves = levels_.back();
  for (std::size_t b = 1; b + 1 < leaves.size(); ++b) {
    d_[leaves[b] - 1] -= std::abs(e_[leaves[b] - 1]);
    d_[leaves[b]] -= std::abs(e_[leaves[b] - 1]);
  }
  send(d_there_, d_);
  send(e_there_, e_);
  send(list_, leaves);
  const unsigned blocks = unsigned(leaves.size() - 1);
  solve_leaves<<<blocks, leaf_size, 0, cuda::stream()>>>(d_there_.get(), e_there_.get(), list_.get(), q_.get(), n_,
                                                         failed_.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  d_ = cuda::fetched(d_there_.get(), n_);
  require_success();
  for (std::size_t b = 0; b + 1 < leaves.size(); ++b) sort(leaves[b], leaves[b + 1] - leaves[b]);
}

std::vector<DevicePiece> DivideAndConquer::Division::found() {
  if (!is_shared()) return {};
  send(d_there_, d_);
  send(column_, order_);
  std::vector<DevicePiece> pieces;
  for_subtrees([&](int block, int first, int size, double* packed) {
    const int from = owner(block);
    if (from == rank_) copy_square(size, q_.get() + first + std::int64_t(first) * n_, n_, packed, size);
    pieces.push_back({from, packed, std::size_t(size) * std::size_t(size) * sizeof(double)});
    pieces.push_back({from, d_there_.get() + first, std::size_t(size) * sizeof(double)});
    pieces.push_back({from, column_.get() + first, std::size_t(size) * sizeof(int)});
  });
  return pieces;
}

void DivideAndConquer::Division::take_found() {
  if (!is_shared()) return;
  for_subtrees([&](int block, int first, int size, const double* packed) {
    if (owner(block) == rank_) return;
    copy_square(size, packed, size, q_.get() + first + std::int64_t(first) * n_, n_);
  });
  d_ = cuda::fetched(d_there_.get(), n_);
  order_ = cuda::fetched(column_.get(), n_);
}

/// The merges of a level with what is not deflated; sends it to the device.
std::vector<Merge> DivideAndConquer::Division::deflate_all(int level) {
  const std::vector<int>&halves = levels_[level + 1], &blocks = levels_[level];
  std::vector<Merge> merges;
  int widest = 0;
  for (std::size_t b = 0; b + 1 < blocks.size(); ++b) {
    if (!has_merge(level, int(b))) continue;
    const int first = blocks[b], middle = halves[2 * b + 1], end = blocks[b + 1];
    const double coupling = e_[middle - 1];
    merges.push_back({first, middle - first, end - first, 2 * std::abs(coupling), coupling < 0 ? -1.0 : 1.0});
    widest = std::max(widest, end - first);
  }
  send(merges_, merges);
  const dim3 grid(unsigned((widest + 127) / 128), unsigned(merges.size()));
  take_z<<<grid, 128, 0, cuda::stream()>>>(merges_.get(), q_.get(), n_, z_.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  const std::vector<double> z = cuda::fetched(z_.get(), n_);
  std::vector<int> column(n_), place(n_);
  std::vector<double> poles(n_), w(n_);
  std::vector<Rotation> rotations;
  for (Merge& m : merges) {
    const auto here = [&](auto& numbers) { return numbers.begin() + m.first; };
    std::vector<int> lower(here(order_) + m.n1, here(order_) + m.n), sorted(m.n);
    for (int& i : lower) i += m.n1;
    std::merge(here(order_), here(order_) + m.n1, lower.begin(), lower.end(), sorted.begin(),
               [&](int x, int y) { return d_[m.first + x] < d_[m.first + y]; });
    const Deflated result = deflate(m.n1, {here(d_), here(d_) + m.n}, {here(z), here(z) + m.n}, sorted, m.rho);
    m.k = int(result.d.size());
    m.c1 = result.c1;
    m.c2 = result.c2;
    m.rotation0 = int(rotations.size());
    m.rotations = int(result.rotations.size());
    rotations.insert(rotations.end(), result.rotations.begin(), result.rotations.end());
    std::copy(result.column.begin(), result.column.end(), here(column));
    std::copy(result.place.begin(), result.place.end(), here(place));
    std::copy(result.d.begin(), result.d.end(), here(poles));
    std::copy(result.w.begin(), result.w.end(), here(w));
    std::copy(result.rest.begin(), result.rest.end(), here(rest_) + m.k);
    m.pack_top = long(m.first) * n_;
    m.pack_bottom = m.pack_top + long(m.n1) * (m.c1 + m.c2);
    m.pack_rest = m.pack_bottom + long(m.n - m.n1) * (m.k - m.c1);
  }
  send(merges_, merges);
  send(rotations_, rotations);
  send(column_, column);
  send(place_, place);
  send(poles_, poles);
  send(w_, w);
  if (!rotations.empty()) rotate<<<grid, 128, 0, cuda::stream()>>>(merges_.get(), rotations_.get(), q_.get(), n_);
  const dim3 columns(unsigned(std::min(widest, 2048)), unsigned(merges.size()));
  pack<<<columns, 128, 0, cuda::stream()>>>(merges_.get(), column_.get(), q_.get(), n_, packed_.get());
  unpack_rest<<<columns, 128, 0, cuda::stream()>>>(merges_.get(), packed_.get(), q_.get(), n_);
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  return merges;
}

void DivideAndConquer::Division::merge_level(int level, const WantedVectors& wanted) {
  const std::vector<Merge> merges = deflate_all(level);
  int most = 0;
  for (const Merge& m : merges) most = std::max(most, m.k);
  if (most > 0) {
    const dim3 warps(unsigned((most + 3) / 4), unsigned(merges.size()));
    solve_secular<<<warps, 128, 0, cuda::stream()>>>(merges_.get(), poles_.get(), w_.get(), origin_.get(),
                                                     offset_.get(), value_.get(), failed_.get());
    renew_z<<<warps, 128, 0, cuda::stream()>>>(merges_.get(), poles_.get(), w_.get(), origin_.get(), offset_.get(),
                                               z_.get());
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  }
  const std::vector<double> roots = cuda::fetched(value_.get(), n_);
  for (const Merge& m : merges) {
    for (int i = 0; i < m.n; ++i) d_[m.first + i] = i < m.k ? roots[m.first + i] : rest_[m.first + i];
    sort(m.first, m.n);
    if (level == 0) choose(wanted);
    form_vectors(m, level == 0);
  }
}

/// Columns of Q from the packed ones: all of the merge, or in the last one those that are wanted.
void DivideAndConquer::Division::form_vectors(const Merge& m, bool last) {
  std::vector<int> roots;
  for (std::int64_t i = out_.first; last && i < out_.first + out_.count; ++i) {
    if (order_[i] < m.k) roots.push_back(order_[i]);
  }
  std::sort(roots.begin(), roots.end());
  const bool all = !last || int(roots.size()) == m.k;
  const std::int64_t columns = all ? m.k : std::int64_t(roots.size());
  if (!all) send(list_, roots);
  const std::int64_t c12 = m.c1 + m.c2, c23 = m.k - m.c1, n2 = m.n - m.n1;
  const std::int64_t tile = m.k > 0 ? std::max<std::int64_t>(1, u_.count() / m.k) : 1;
  for (std::int64_t from = 0; from < columns; from += tile) {
    const std::int64_t width = std::min(tile, columns - from);
    form_columns<<<unsigned(width), 256, 0, cuda::stream()>>>(m, poles_.get(), z_.get(), origin_.get(), offset_.get(),
                                                              place_.get(), all ? nullptr : list_.get(), int(from),
                                                              u_.get());
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
    double* const to = q_.get() + m.first + (m.first + from) * n_;
    product(Op::none, Op::none, m.n1, width, c12, 1, packed_.get() + m.pack_top, m.n1, u_.get(), m.k, 0, to, n_);
    product(Op::none, Op::none, n2, width, c23, 1, packed_.get() + m.pack_bottom, n2, u_.get() + m.c1, m.k, 0,
            to + m.n1, n_);
  }
  if (all) return;
  std::vector<int> at(m.n, -1);  // the columns of the roots stand in the order of `roots`
  for (std::size_t i = 0; i < roots.size(); ++i) at[roots[i]] = int(i);
  for (std::int64_t i = out_.first; i < out_.first + out_.count; ++i) {
    if (order_[i] < m.k) order_[i] = at[order_[i]];
  }
}

TridiagonalVectors DivideAndConquer::Division::finish() {
  const auto begin = order_.begin() + out_.first;
  send(column_, std::vector<int>(begin, begin + out_.count));
  if (out_.count > 0) {
    gather_columns<<<unsigned(out_.count), 256, 0, cuda::stream()>>>(q_.get(), n_, n_, column_.get(), packed_.get(),
                                                                     n_);
    QUADRILLE_CUDA_CHECK(cudaGetLastError());
  }
  require_success();
  out_.vectors = std::move(packed_);
  return std::move(out_);
}

namespace {

/// Eigenvalue number i, from 0: the largest x for which at most i are below.
__global__ void bisect(const double* d, const double* squares, int n, double low, double high, double* values) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  constexpr double smallest = 0x1p-1000;
  for (int turn = 0; turn < 80; ++turn) {
    const double x = low + (high - low) / 2;
    if (x <= low || x >= high) break;
    int below = 0;
    double pivot = 1;
    for (int k = 0; k < n; ++k) {  // the signs of the pivots of T - x (Sturm)
      pivot = d[k] - x - (k > 0 ? squares[k - 1] / pivot : 0.0);
      if (fabs(pivot) < smallest) pivot = -smallest;
      below += pivot < 0;
    }
    (below > i ? high : low) = x;
  }
  values[i] = low + (high - low) / 2;
}

}  // namespace

DivideAndConquer::DivideAndConquer(std::vector<double> d, std::vector<double> e, int rank, int ranks)
    : division_(std::make_unique<Division>(std::move(d), std::move(e), rank, ranks)) {}
DivideAndConquer::~DivideAndConquer() = default;
void DivideAndConquer::solve_subtrees() { division_->solve_subtrees(); }
std::vector<DevicePiece> DivideAndConquer::found() { return division_->found(); }
TridiagonalVectors DivideAndConquer::merge(const WantedVectors& wanted) { return division_->merge(wanted); }

std::vector<double> tridiagonal_values(const std::vector<double>& d, const std::vector<double>& e) {
  const int n = int(d.size());
  double low = d[0], high = d[0];
  std::vector<double> squares(n);
  for (int i = 0; i < n; ++i) {
    const double radius = (i > 0 ? std::abs(e[i - 1]) : 0) + (i + 1 < n ? std::abs(e[i]) : 0);
    low = std::min(low, d[i] - radius);
    high = std::max(high, d[i] + radius);
    if (i + 1 < n) squares[i] = e[i] * e[i];
  }
  const double margin = 0x1p-50 * std::max(std::abs(low), std::abs(high));
  const auto d_there = device_array<double>(n), squares_there = device_array<double>(n),
             values = device_array<double>(n);
  send(d_there, d);
  send(squares_there, squares);
  bisect<<<unsigned((n + 63) / 64), 64, 0, cuda::stream()>>>(d_there.get(), squares_there.get(), n, low - margin,
                                                             high + margin, values.get());
  QUADRILLE_CUDA_CHECK(cudaGetLastError());
  std::vector<double> found = cuda::fetched(values.get(), n);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace quadrille::eigen
