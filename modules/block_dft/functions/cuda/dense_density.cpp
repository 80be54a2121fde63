// The dense path: all eigenvectors by cuSOLVER, whose library is looked for when it is needed.
#include "core/comm/agreement.h"
#include "core/error.h"
#include "core/system/memory.h"
#include "modules/block_dft/matrix/block_exchange.h"
#include "modules/block_dft/product/cuda/dense_product.h"
#include "modules/shared/dense/cuda/cublas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#if __has_include(<cusolverDn.h>)
#include <cusolverDn.h>
#define QUADRILLE_HAS_CUSOLVER
#endif

namespace quadrille::block_dft {
namespace {

#ifdef QUADRILLE_HAS_CUSOLVER
class CuSolver {
 public:
  CuSolver() : library_(open()) {
    call("cusolverDnCreate", find<decltype(cusolverDnCreate)>("cusolverDnCreate"), &handle_);
    call("cusolverDnSetStream", find<decltype(cusolverDnSetStream)>("cusolverDnSetStream"), handle_, cuda::stream());
  }
  ~CuSolver() { find<decltype(cusolverDnDestroy)>("cusolverDnDestroy")(handle_); }
  CuSolver(const CuSolver&) = delete;
  CuSolver& operator=(const CuSolver&) = delete;

  /// Numbers that solve() needs besides its arguments, which may be null here.
  int work_size(int n, const double* h = nullptr, const double* s = nullptr, const double* levels = nullptr) const {
    int size = 0;
    call("cusolverDnDsygvd_bufferSize", find<decltype(cusolverDnDsygvd_bufferSize)>("cusolverDnDsygvd_bufferSize"),
         handle_, kind, mode, part, n, h, n, s, n, levels, &size);
    return size;
  }
  /// H becomes the eigenvectors, S is overwritten; gives LAPACK's info.
  int solve(int n, double* h, double* s, double* levels) const {
    const int size = work_size(n, h, s, levels);
    const auto work = device_array<double>(size);
    const auto info = device_array<int>(1);
    call("cusolverDnDsygvd", find<decltype(cusolverDnDsygvd)>("cusolverDnDsygvd"), handle_, kind, mode, part, n, h, n,
         s, n, levels, work.get(), size, info.get());
    return cuda::fetched(info.get(), 1).front();
  }

 private:
  static constexpr cusolverEigType_t kind = CUSOLVER_EIG_TYPE_1;
  static constexpr cusolverEigMode_t mode = CUSOLVER_EIG_MODE_VECTOR;
  static constexpr cublasFillMode_t part = CUBLAS_FILL_MODE_LOWER;

  /// Stays open: it cannot be unloaded while the driver has its kernels.
  static void* open() {
    const std::string name = fmt::format("libcusolver.so.{}", CUSOLVER_VER_MAJOR);
    void* const library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
    throw Error(ErrorCode::unsupported, fmt::format("eigenvectors on a GPU need cuSOLVER: {}; use --backend cpu, or "
                                                    "another method",
                                                    ::dlerror()));
  }
  template <class Function>
  Function* find(const char* name) const {
    void* const found = ::dlsym(library_, name);
    if (found == nullptr) throw Error(ErrorCode::unsupported, fmt::format("cuSOLVER has no {}", name));
    return reinterpret_cast<Function*>(found);
  }
  template <class Function, class... Arguments>
  static void call(const char* name, Function* function, Arguments... arguments) {
    const cusolverStatus_t status = function(arguments...);
    if (status == CUSOLVER_STATUS_SUCCESS) return;
    throw Error(ErrorCode::unsupported, fmt::format("CUDA: {} failed with status {}", name, int(status)));
  }

  void* library_;
  cusolverDnHandle_t handle_ = nullptr;
};

#else
class CuSolver {
 public:
  CuSolver() {
    throw Error(ErrorCode::unsupported,
                "eigenvectors on a GPU: this build was made without cuSOLVER; use --backend cpu");
  }
  int work_size(int) const { return 0; }
  int solve(int, double*, double*, double*) const { return 0; }
};
#endif

/// Zeros at all places on and above the diagonal.
BlockMatrix<double> full_pattern(const BlockSizes& sizes) {
  std::vector<std::int64_t> first{0};
  std::vector<std::int32_t> column;
  for (std::int32_t i = 0; i < sizes.count(); ++i) {
    for (std::int32_t j = i; j < sizes.count(); ++j) column.push_back(j);
    first.push_back(std::int64_t(column.size()));
  }
  return BlockMatrix<double>::with_pattern(sizes, sizes, Symmetry::symmetric, std::move(first), std::move(column));
}

void require_memory_for(const CuSolver& solver, std::int64_t orbitals, double besides) {
  if (orbitals > std::numeric_limits<int>::max()) {
    throw Error(ErrorCode::unsupported, fmt::format("{} orbitals are too many for eigenvectors", orbitals));
  }
  // Eigenvectors and S; then what dsygvd works in, or P, a half of it, before and after blocks of zeros have gone.
  const double square = sizeof(double) * double(orbitals) * double(orbitals), free = double(cuda::available_bytes());
  double need = 3 * square + besides;
  if (need <= free) need += std::max(0.0, sizeof(double) * double(solver.work_size(int(orbitals))) - square);
  if (need <= free) return;
  throw NotEnoughMemory(
      fmt::format("not enough memory: method dense, which computes all eigenvectors of {} orbitals on one GPU, needs "
                  "{}, {} are free there; use another method, or --backend cpu, which computes the occupied ones only",
                  orbitals, bytes_text(need), bytes_text(free)));
}

DenseDensity<DeviceMatrix> dense_on_one_rank(const DeviceMatrix& h, const DeviceMatrix& s,
                                             const CountOccupied& occupied) {
  const std::int64_t n = h.rows().total();
  const CuSolver solver;
  require_memory_for(solver, n, 0);
  const DeviceArray<double> vectors = spread(Transpose::no, h.data()), metric = spread(Transpose::no, s.data());
  const auto levels = device_array<double>(n);
  const int info = solver.solve(int(n), vectors.get(), metric.get(), levels.get());
  if (info > n) {
    throw Error(ErrorCode::numerical,
                fmt::format("S is not positive definite: its leading {} x {} submatrix is not", info - n, info - n));
  }
  if (info != 0) throw Error(ErrorCode::numerical, fmt::format("dsygvd of cuSOLVER failed with info = {}", info));
  DenseDensity<DeviceMatrix> out{cuda::fetched(levels.get(), n), DeviceMatrix(full_pattern(h.rows()))};
  const std::int64_t count = occupied(out.eigenvalues);
  // Eigenvectors are columns of a matrix by columns; P is symmetric, so its order does not matter.
  const double one = 1, zero = 0;
  QUADRILLE_CUBLAS_CHECK(cublasDgemm_64(cuda::cublas(), CUBLAS_OP_N, CUBLAS_OP_T, n, n, count, &one, vectors.get(), n,
                                        vectors.get(), n, &zero, metric.get(), n));
  gather({metric.get(), n, 1, 0, nullptr}, out.p.data());
  symmetrise_on_device(out.p.data());
  filter(out.p, std::numeric_limits<double>::min());
  return out;
}

}  // namespace

void require_dense_memory_on_device(std::int64_t orbitals, double besides) {
  require_memory_for(CuSolver(), orbitals, besides);
}

DenseDensity<DeviceMatrix> dense_density(const DeviceMatrix& h, const DeviceMatrix& s, const CountOccupied& occupied) {
  const std::shared_ptr<const MatrixGrid> grid = h.rows().grid();
  if (!grid) return dense_on_one_rank(h, s, occupied);
  release_windows(grid);
  double collected_bytes = double(h.bytes() + s.bytes());
  grid->ranks().sum(&collected_bytes, 1);
  on_first_rank(grid->ranks(), [&] { require_dense_memory_on_device(h.rows().total(), collected_bytes); });
  const BlockMatrix<double> whole_h = collected(h.fetch()), whole_s = collected(s.fetch());
  std::vector<double> levels(std::size_t(h.rows().total()));
  const BlockMatrix<double> p = made_on_first(h.rows(), Symmetry::symmetric, [&](const BlockSizes&) {
    DenseDensity<DeviceMatrix> dense = dense_on_one_rank(DeviceMatrix(whole_h), DeviceMatrix(whole_s), occupied);
    levels = std::move(dense.eigenvalues);
    return dense.p.fetch();
  });
  grid->ranks().broadcast(levels.data(), levels.size() * sizeof(double), 0);
  return {std::move(levels), DeviceMatrix(p)};
}

}  // namespace quadrille::block_dft
