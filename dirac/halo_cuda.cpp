#include "dirac/halo_cuda.h"

#include "core/backend/cuda/runtime.h"
#include "core/error.h"
#include "dirac/cuda/tiles.h"

#include <algorithm>
#include <iterator>

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

/// Some lengths of lists stand for all: a channel for each would take memory, and a little room that is sent empty
/// costs less.
std::size_t room_for(std::size_t calls) {
  constexpr std::size_t rooms[] = {1, 2, 3, 4, 6, 8, 12, dirac::most_calls};
  return *std::lower_bound(std::begin(rooms), std::end(rooms), calls);
}

}  // namespace

CudaHalo::CudaHalo(const HopSetup& setup)
    : setup_(setup),
      pack_(find_pack_kernel(setup)),
      stream_(cuda::make_urgent_stream()),
      asked_(cuda::make_event()),
      done_(cuda::make_event()) {
  const Lattice& lattice = *setup.spinor.lattice;
  for (int d = 0; d < 8; ++d) {
    if (!lattice.communicator().splits(d % 4)) continue;
    const int sites = int(lattice.half_volume() / lattice.dims()[std::size_t(d % 4)]);
    const std::size_t numbers = padded(sites) * half_spinor * std::size_t(number_bytes(setup.form.precision));
    const std::size_t norms = setup.spinor.has_norms() ? padded(sites) * sizeof(float) : 0;
    faces_.push_back({d, sites, numbers, numbers + norms});
  }
  (void)channel_for(1);  // a transport that cannot be is said before anything runs
}

CudaHalo::~CudaHalo() { (void)cudaStreamSynchronize(stream()); }

cuda::DeviceChannel& CudaHalo::channel_for(std::size_t calls) {
  const std::size_t room = room_for(calls);
  std::unique_ptr<cuda::DeviceChannel>& channel = channels_[room];
  if (channel) return *channel;
  std::vector<cuda::DeviceMessage> messages;
  // What a hop forward finds comes from the neighbour forward: it has sent it backward.
  for (const Face& face : faces_) messages.push_back({(face.direction + 4) % 8, room * face.bytes});
  channel = cuda::make_device_channel(setup_.spinor.lattice->communicator(), messages);
  return *channel;
}

void CudaHalo::start(const HopCall& call) {
  channel_ = &channel_for(call.list.size());
  QUADRILLE_CUDA_CHECK(cudaEventRecord(asked_.get(), cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream(), asked_.get(), 0));
  const Parity there = opposite(call.parity);
  dirac::CudaPackArgs args{};
  for (std::size_t i = 0; i < call.list.size(); ++i) {
    dirac::point_to_halves(args.calls[i].in, *call.list[i].x, there, call.dagger);
    args.calls[i].in_norms = call.list[i].x->norms(there);
  }
  args.geometry = dirac::geometry_of(setup_.spinor.lattice->dims(), there);
  int most = 0;
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const Face& face = faces_[k];
    args.faces[k] = {face.direction, face.sites, channel_->outgoing(k), face.numbers, face.bytes};
    most = std::max(most, face.sites);
  }
  void* parameters[] = {&args};
  const dim3 grid(unsigned((most + dirac::edge_threads - 1) / dirac::edge_threads), unsigned(faces_.size()),
                  unsigned(call.list.size()));
  QUADRILLE_CUDA_CHECK(cudaLaunchKernel(pack_.function, grid, dim3(dirac::edge_threads), parameters, 0, stream()));
  channel_->start(stream());
}

void CudaHalo::finish(dirac::CudaEdges& edges) {
  channel_->finish(stream());
  for (std::size_t k = 0; k < faces_.size(); ++k) {
    const Face& face = faces_[k];
    edges.ghosts[face.direction] = channel_->incoming(k);
    edges.ghost_numbers[face.direction] = face.numbers;
    edges.ghost_bytes[face.direction] = face.bytes;
  }
}

void CudaHalo::join() {
  QUADRILLE_CUDA_CHECK(cudaEventRecord(done_.get(), stream()));
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(cuda::stream(), done_.get(), 0));
}

}  // namespace quadrille
