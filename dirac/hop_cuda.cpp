// Hopping kernels on the GPU: gathers what generated kernels need and launches them, a thread a site: one kernel for
// all sites, or where edges are special (dirac/cuda/hop_args.h) one for those that are at none and then one for the
// others.
#include "core/backend/cuda/device_array.h"
#include "core/backend/cuda/stream_clock.h"
#include "core/error.h"
#include "core/system/log.h"
#include "core/tuning/tuning.h"
#include "dirac/cuda/hop_args.h"
#include "dirac/cuda/tiles.h"
#include "dirac/halo_cuda.h"
#include "dirac/hop_kernel.h"

#include <fmt/format.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace quadrille {

namespace dirac {
#define X(name, op, precision, reconstruct, line) CudaHopKernels name##_cuda(bool temporal_gauge);
#include "cuda_kernel_table.inc"
#undef X
}  // namespace dirac

namespace {

struct KernelEntry {
  const char* name;
  const char* op;
  Precision precision;
  Reconstruct reconstruct;
  dirac::CudaHopKernels (*kernels)(bool temporal_gauge);
};

constexpr KernelEntry entries[] = {
#define X(name, op, precision, reconstruct, line) \
  {#name, op, Precision::precision, Reconstruct::reconstruct, &dirac::name##_cuda},
#include "cuda_kernel_table.inc"
#undef X
};

const KernelEntry& find_entry(const HopSetup& setup) {
  std::string built;
  for (const KernelEntry& entry : entries) {
    if (entry.op == setup.op && entry.precision == setup.form.precision &&
        entry.reconstruct == setup.form.reconstruct) {
      return entry;
    }
    built += (built.empty() ? "" : ", ") + std::string(entry.name);
  }
  throw Error(
      ErrorCode::unsupported,
      fmt::format("no CUDA kernel {0}_{1}_{2} in this build, which has {3}. To add it: codegen/kernels.yaml, entry "
                  "`operator: {0}`, `backend: cuda`, {1} under `precision:` and {2} under `reconstruct:`",
                  setup.op, to_string(setup.form.precision), to_string(setup.form.reconstruct), built));
}

/// What tells this build's kernels from another's: version; text of the kernels and the headers in them; compiler,
/// flags and architectures.
constexpr const char* build = QUADRILLE_VERSION
    " "
#include "cuda_kernel_hash.inc"
    " " QUADRILLE_CUDA_COMPILATION;

/// Kernels count the numbers of a field's sites in 32 bits.
void require_indexable(const HopSetup& setup) {
  const FieldDesc& links = setup.spatial_links->desc();
  const std::int64_t half_volume = setup.spinor.lattice->half_volume();
  if (links.layout.sites(half_volume) * links.components() <= std::numeric_limits<std::uint32_t>::max()) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("{} sites per parity with {} real numbers of links per site exceed what CUDA kernels can "
                  "index (2^32): use more ranks, fewer numbers per link (`reconstruct`), or the CPU (--backend cpu)",
                  half_volume, links.components()));
}

/// The sites of a parity that are at special edges, in the order of memory.
std::vector<int> special_sites(const Dims& dims, Parity p, const dirac::CudaEdges& edges) {
  const GroupedGeometry geometry = dirac::geometry_of(dims, p);
  std::vector<int> sites;
  const int all = geometry.half_x * geometry.y * geometry.z * geometry.t;
  for (int site = 0; site < all; ++site) {
    if (!edges.inner(GroupedSite(geometry, site))) sites.push_back(site);
  }
  return sites;
}

class CudaHop final : public HopKernel {
 public:
  explicit CudaHop(const HopSetup& setup)
      : setup_(setup),
        entry_(find_entry(setup)),
        kernels_(entry_.kernels(setup.form.temporal_gauge)),
        args_(dirac::unbound_args(setup)) {
    require_indexable(setup);
    (void)tuner();  // a wrong setting in the environment is said before anything runs
    prepare_edges();
    QUADRILLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes_, main_kernel()));
    // Nothing is kept in shared memory: all of it serves as first-level cache.
    QUADRILLE_CUDA_CHECK(cudaFuncSetAttribute(main_kernel(), cudaFuncAttributePreferredSharedMemoryCarveout,
                                              cudaSharedmemCarveoutMaxL1));
    int device = 0, multiprocessors = 0;
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
    QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
    walks_ = dirac::possible_walks(setup.spinor.lattice->dims(), attributes_.maxThreadsPerBlock, [&](int threads) {
      if (!kernels_.walks || halo_) return 0;  // blocks that walk leave no room for the halo's until they are done
      int blocks = 0;
      QUADRILLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, main_kernel(), threads, 0));
      return blocks * multiprocessors;
    });
    for (const dirac::Walk& walk : walks_) walk_names_.push_back(dirac::to_string(walk));
  }

  std::string name() const override { return entry_.name; }
  std::string architecture() const override {
    return setup_.spinor.backend->architecture(setup_.spinor.layout, setup_.spinor.precision);
  }
  std::string resources() const override {
    const std::optional<std::size_t> chosen = chosen_[0] ? chosen_[0] : chosen_[1];
    if (!chosen) return "";
    const dirac::Walk& walk = walks_[*chosen];
    const int threads = dirac::volume(walk.tile);
    int blocks = 0, device = 0, most_threads = 0;
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
    QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&most_threads, cudaDevAttrMaxThreadsPerMultiProcessor, device));
    QUADRILLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, main_kernel(), threads, 0));
    return fmt::format("{} registers, {} bytes local, {} of {} warps, walk {}", attributes_.numRegs,
                       attributes_.localSizeBytes, blocks * ((threads + 31) / 32), most_threads / 32,
                       dirac::to_string(walk));
  }
  void run(const HopCall& call) const override {
    std::optional<std::size_t>& chosen = chosen_[call.z != nullptr];
    if (!chosen) chosen = agreed_choice(call);
    run_in(*chosen, call);
  }
  std::size_t ways() const override { return walks_.size(); }
  void run_in(std::size_t way, const HopCall& call) const override {
    dirac::CudaHopArgs args = dirac::bound(args_, setup_, call);
    if (halo_) halo_->start(*call.x, call.parity, call.dagger);
    launch(args, call.parity, walks_.at(way));
    if (halo_) halo_->finish(args.edges);
    launch_edges(args, call.parity, halo_ ? halo_->stream() : cuda::stream());
    if (halo_) halo_->join();
  }

 private:
  /// What works on all sites, or on those at no special edge.
  const void* main_kernel() const { return args_.edges.special ? kernels_.inner : kernels_.whole; }
  const Communicator& communicator() const { return setup_.spinor.lattice->communicator(); }

  void prepare_edges() {
    if (!args_.edges.special) return;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      edge_sites_[int(p)] = cuda::sent(special_sites(setup_.spinor.lattice->dims(), p, args_.edges), "sites at edges",
                                       "use a smaller lattice");
    }
    if (communicator().size() > 1) halo_ = std::make_unique<CudaHalo>(setup_);
  }

  /// Rank 0's: it measures, the others take what it found.
  std::size_t agreed_choice(const HopCall& call) const {
    std::size_t choice = communicator().rank() == 0 ? choose(call) : 0;
    communicator().broadcast(&choice, sizeof choice, 0);
    return choice;
  }

  /// The fastest walk for calls like this one; measuring overwrites y.
  std::size_t choose(const HopCall& call) const {
    const FieldDesc& desc = call.y->desc();
    const Dims& dims = desc.lattice->dims();
    const TuningKey key{
        desc.backend->device() + ", " + architecture(), build,
        fmt::format("{}{}{}{} {}x{}x{}x{}", entry_.name, setup_.form.temporal_gauge ? "_temporal_gauge" : "",
                    call.z != nullptr ? "_xpay" : "", args_.edges.special ? "_inner" : "", dims[0], dims[1], dims[2],
                    dims[3])};
    std::optional<cuda::StreamClock> clock;
    std::optional<Field> scratch;  // where y is read too
    const bool in_place = call.z != nullptr && call.z->numbers(call.parity) == call.y->numbers(call.parity);
    const auto choice = [&] {
      return std::size_t(tuner().choose(key, walk_names_, [&](int candidate) {
        constexpr int launches = 8;
        if (!clock) clock.emplace();
        HopCall trial = call;
        if (in_place) trial.y = scratch ? &*scratch : &scratch.emplace(desc);
        return clock->seconds([&] {
          const dirac::CudaHopArgs args = dirac::bound(args_, setup_, trial);
          for (int i = 0; i < launches; ++i) launch(args, trial.parity, walks_[std::size_t(candidate)]);
        }) / launches;
      }));
    };
    try {
      return choice();
    } catch (const Error& error) {  // no memory for scratch, say: a launch that fails as well will say so itself
      log().debug("{} is not tuned: {}", entry_.name, error.what());
      return 0;
    }
  }

  void launch(dirac::CudaHopArgs args, Parity p, const dirac::Walk& walk) const {
    const dirac::TiledLaunch launch(setup_.spinor.lattice->dims(), p, walk);
    args.geometry = launch.geometry;
    const auto extent = [](const std::array<int, 3>& n) {
      return dim3(unsigned(n[0]), unsigned(n[1]), unsigned(n[2]));
    };
    launch_kernel(main_kernel(), extent(launch.grid), extent(launch.block), args, cuda::stream());
  }
  void launch_edges(dirac::CudaHopArgs& args, Parity p, cudaStream_t stream) const {
    const cuda::DeviceArray<int>& sites = edge_sites_[int(p)];
    if (sites.count() == 0) return;
    args.geometry = dirac::geometry_of(setup_.spinor.lattice->dims(), p);
    args.edges.sites = sites.get();
    args.edges.count = int(sites.count());
    constexpr int threads = dirac::edge_threads;
    launch_kernel(kernels_.edges, dim3(unsigned((args.edges.count + threads - 1) / threads)), dim3(threads), args,
                  stream);
  }
  static void launch_kernel(const void* kernel, dim3 grid, dim3 block, dirac::CudaHopArgs& args, cudaStream_t stream) {
    void* parameters[] = {&args};
    QUADRILLE_CUDA_CHECK(cudaLaunchKernel(kernel, grid, block, parameters, 0, stream));
  }

  HopSetup setup_;
  const KernelEntry& entry_;
  dirac::CudaHopKernels kernels_;
  cudaFuncAttributes attributes_{};
  std::vector<dirac::Walk> walks_;
  std::vector<std::string> walk_names_;
  dirac::CudaHopArgs args_;
  std::array<cuda::DeviceArray<int>, 2> edge_sites_;  ///< by parity
  std::unique_ptr<CudaHalo> halo_;                    ///< null on the only rank
  mutable std::optional<std::size_t> chosen_[2];      ///< index in walks_, without and with xpay
};

}  // namespace

std::unique_ptr<HopKernel> make_hop_cuda(const HopSetup& setup) { return std::make_unique<CudaHop>(setup); }

}  // namespace quadrille
