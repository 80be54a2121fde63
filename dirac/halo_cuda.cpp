#include "dirac/halo_cuda.h"

#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "dirac/cuda/tiles.h"

#include <algorithm>

namespace quadrille {

namespace dirac {
#define X(name, op, precision) CudaPackKernel name##_cuda();
#include "cuda_pack_table.inc"
#undef X
}  // namespace dirac

namespace {

dirac::CudaPackKernel find_pack_kernel(const HopSetup& setup) {
#define X(name, operator_, precision_) \
  if (setup.op == operator_ && setup.form.precision == Precision::precision_) return dirac::name##_cuda();
#include "cuda_pack_table.inc"
#undef X
  throw Error(ErrorCode::internal, "a CUDA hopping kernel has no kernel that packs half spinors");
}

constexpr std::size_t half_spinor = site_formats::half_spinor.numbers();

std::size_t padded(int sites) { return (std::size_t(sites) + Layout::block - 1) / Layout::block * Layout::block; }

}  // namespace

CudaHalo::CudaHalo(const HopSetup& setup)
    : setup_(setup),
      pack_(find_pack_kernel(setup)),
      stream_(cuda::make_urgent_stream()),
      asked_(cuda::make_event()),
      done_(cuda::make_event()) {
  const Lattice& lattice = *setup.spinor.lattice;
  std::vector<cuda::DeviceMessage> messages;
  for (int d = 0; d < 8; ++d) {
    if (!lattice.communicator().splits(d % 4)) continue;
    const int sites = int(lattice.half_volume() / lattice.dims()[std::size_t(d % 4)]);
    const std::size_t numbers = padded(sites) * half_spinor * std::size_t(number_bytes(setup.form.precision));
    faces_.push_back({d, sites, numbers});
    const std::size_t norms = setup.spinor.has_norms() ? std::size_t(sites) * sizeof(float) : 0;
    // What a hop forward finds comes from the neighbour forward: it has sent it backward.
    messages.push_back({(d + 4) % 8, numbers + norms});
  }
  channel_ = cuda::make_device_channel(lattice.communicator(), messages);
}

CudaHalo::~CudaHalo() { (void)cudaStreamSynchronize(stream()); }

void CudaHalo::start(const Field& x, Parity p, Dagger dagger) {
  QUADRILLE_CUDA_CHECK(cudaEventRecord(asked_.get(), cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream(), asked_.get(), 0));
  dirac::CudaPackArgs args{};
  dirac::point_to_halves(args.in, x, opposite(p), dagger);
  args.in_norms = x.norms(opposite(p));
  args.geometry = dirac::geometry_of(setup_.spinor.lattice->dims(), opposite(p));
  int most = 0;
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const Face& face = faces_[k];
    std::byte* const out = static_cast<std::byte*>(channel_->outgoing(k));
    args.faces[k] = {face.direction, face.sites, out, reinterpret_cast<float*>(out + face.numbers)};
    most = std::max(most, face.sites);
  }
  void* parameters[] = {&args};
  const dim3 grid(unsigned((most + dirac::edge_threads - 1) / dirac::edge_threads), unsigned(faces_.size()));
  QUADRILLE_CUDA_CHECK(cudaLaunchKernel(pack_.function, grid, dim3(dirac::edge_threads), parameters, 0, stream()));
  channel_->start(stream());
}

void CudaHalo::finish(dirac::CudaEdges& edges) {
  channel_->finish(stream());
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const std::byte* const in = static_cast<const std::byte*>(channel_->incoming(k));
    edges.ghosts[faces_[k].direction] = in;
    edges.ghost_norms[faces_[k].direction] = reinterpret_cast<const float*>(in + faces_[k].numbers);
  }
}

void CudaHalo::join() {
  QUADRILLE_CUDA_CHECK(cudaEventRecord(done_.get(), stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(cuda::stream(), done_.get(), 0));
}

}  // namespace quadrille
