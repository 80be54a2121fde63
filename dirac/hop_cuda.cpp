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
#define X(name, op, precision, reconstruct, line) CudaHopKernels name##_cuda(bool temporal_gauge, bool site_terms);
#include "cuda_kernel_table.inc"
#undef X
#define X(name, op, precision) CudaLocalKernel name##_cuda();
#include "cuda_local_table.inc"
#undef X
}  // namespace dirac

namespace {

struct KernelEntry {
  const char* name;
  const char* op;
  Precision precision;
  Reconstruct reconstruct;
  dirac::CudaHopKernels (*kernels)(bool temporal_gauge, bool site_terms);
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

dirac::CudaLocalKernel find_local_kernel(const HopSetup& setup) {
#define X(name, op_, precision_) \
  if (setup.op == op_ && setup.form.precision == Precision::precision_) return dirac::name##_cuda();
#include "cuda_local_table.inc"
#undef X
  throw Error(ErrorCode::internal, "no CUDA kernel for site-local terms of " + setup.op);
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

/// The kernels of a hop with or without site-local terms other than numbers, and the ways to launch them.
class HopVariant {
 public:
  /// `stays`: blocks do not walk along t.
  HopVariant(const dirac::CudaHopKernels& kernels, const Dims& dims, bool special_edges, bool stays)
      : kernels_(kernels), main_(special_edges ? kernels.inner : kernels.whole) {
    QUADRILLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes_, main_));
    // Nothing is kept in shared memory: all of it serves as first-level cache.
    QUADRILLE_CUDA_CHECK(
        cudaFuncSetAttribute(main_, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1));
    const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
    walks_ = dirac::possible_walks(dims, attributes_.maxThreadsPerBlock, [&](int threads) {
      return kernels_.walks && !stays ? blocks_at_once(threads) * multiprocessors : 0;
    });
    for (const dirac::Walk& walk : walks_) names_.push_back(dirac::to_string(walk));
  }

  /// What works on all sites, or on those at no special edge; and on the others.
  const void* main_kernel() const { return main_; }
  const void* edge_kernel() const { return kernels_.edges; }
  const std::vector<dirac::Walk>& walks() const { return walks_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Index in walks(), without and with z.
  std::optional<std::size_t>& chosen(bool z) { return chosen_[z]; }
  std::string resources() const {
    const std::optional<std::size_t> chosen = chosen_[0] ? chosen_[0] : chosen_[1];
    if (!chosen) return "";
    const dirac::Walk& walk = walks_[*chosen];
    const int threads = dirac::volume(walk.tile);
    return fmt::format("{} registers, {} bytes local, {} of {} warps, walk {}", attributes_.numRegs,
                       attributes_.localSizeBytes, blocks_at_once(threads) * ((threads + 31) / 32),
                       device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32, dirac::to_string(walk));
  }

 private:
  static int device_attribute(cudaDeviceAttr which) {
    int device = 0, value = 0;
    QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
    QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
    return value;
  }
  int blocks_at_once(int threads) const {
    int blocks = 0;
    QUADRILLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, main_, threads, 0));
    return blocks;
  }

  dirac::CudaHopKernels kernels_;
  const void* main_;
  cudaFuncAttributes attributes_{};
  std::vector<dirac::Walk> walks_;
  std::vector<std::string> names_;
  std::optional<std::size_t> chosen_[2];
};

class CudaHop final : public HopKernel {
 public:
  explicit CudaHop(const HopSetup& setup)
      : setup_(setup), entry_(find_entry(setup)), local_(find_local_kernel(setup)), args_(dirac::unbound_args(setup)) {
    require_indexable(setup);
    (void)tuner();  // a wrong setting in the environment is said before anything runs
    prepare_edges();
    (void)variant(false);
  }

  std::string name() const override { return entry_.name; }
  std::string architecture() const override {
    return setup_.spinor.backend->architecture(setup_.spinor.layout, setup_.spinor.precision);
  }
  std::string resources() const override {
    const std::string plain = variant(false).resources(), terms = variants_[1] ? variants_[1]->resources() : "";
    return plain + (plain.empty() || terms.empty() ? "" : "; ") + (terms.empty() ? "" : "with terms " + terms);
  }
  void run(const HopCall& call) const override {
    std::optional<std::size_t>& chosen = variant_of(call).chosen(call.z != nullptr);
    if (!chosen) chosen = agreed_choice(call);
    run_in(*chosen, call);
  }
  void run_local(const HopCall& call) const override {
    dirac::CudaHopArgs args = dirac::bound(args_, setup_, call);
    args.geometry = dirac::geometry_of(setup_.spinor.lattice->dims(), call.parity);
    launch_threads(local_.function, setup_.spinor.lattice->half_volume(), args, cuda::stream());
  }
  std::size_t ways() const override { return variant(false).walks().size(); }
  void run_in(std::size_t way, const HopCall& call) const override {
    dirac::CudaHopArgs args = dirac::bound(args_, setup_, call);
    if (halo_) halo_->start(*call.x, call.parity, call.dagger);
    launch(args, call, way);
    if (halo_) halo_->finish(args.edges);
    launch_edges(args, call, halo_ ? halo_->stream() : cuda::stream());
    if (halo_) halo_->join();
  }

 private:
  const Communicator& communicator() const { return setup_.spinor.lattice->communicator(); }
  const Dims& dims() const { return setup_.spinor.lattice->dims(); }

  HopVariant& variant_of(const HopCall& call) const { return variant(call.has_terms()); }
  /// Made on first use.
  HopVariant& variant(bool site_terms) const {
    std::optional<HopVariant>& made = variants_[site_terms];
    // Blocks that walk leave no room for the halo's until they are done.
    if (!made) {
      made.emplace(entry_.kernels(setup_.form.temporal_gauge, site_terms), dims(), args_.edges.special,
                   halo_ != nullptr);
    }
    return *made;
  }

  void prepare_edges() {
    if (!args_.edges.special) return;
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      edge_sites_[int(p)] =
          cuda::sent(special_sites(dims(), p, args_.edges), "sites at edges", "use a smaller lattice");
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
    const TuningKey key{
        desc.backend->device() + ", " + architecture(), build,
        fmt::format("{}{}{}{}{} {}x{}x{}x{}", entry_.name, setup_.form.temporal_gauge ? "_temporal_gauge" : "",
                    call.z != nullptr ? "_xpay" : "", call.has_terms() ? "_terms" : "",
                    args_.edges.special ? "_inner" : "", dims()[0], dims()[1], dims()[2], dims()[3])};
    std::optional<cuda::StreamClock> clock;
    std::optional<Field> scratch;  // where y is read too
    const bool in_place = call.z != nullptr && call.z->numbers(call.parity) == call.y->numbers(call.parity);
    const auto choice = [&] {
      return std::size_t(tuner().choose(key, variant_of(call).names(), [&](int candidate) {
        constexpr int launches = 8;
        if (!clock) clock.emplace();
        HopCall trial = call;
        if (in_place) trial.y = scratch ? &*scratch : &scratch.emplace(desc);
        return clock->seconds([&] {
          const dirac::CudaHopArgs args = dirac::bound(args_, setup_, trial);
          for (int i = 0; i < launches; ++i) launch(args, trial, std::size_t(candidate));
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

  void launch(dirac::CudaHopArgs args, const HopCall& call, std::size_t way) const {
    const HopVariant& variant = variant_of(call);
    const dirac::TiledLaunch launch(dims(), call.parity, variant.walks().at(way));
    args.geometry = launch.geometry;
    const auto extent = [](const std::array<int, 3>& n) {
      return dim3(unsigned(n[0]), unsigned(n[1]), unsigned(n[2]));
    };
    launch_kernel(variant.main_kernel(), extent(launch.grid), extent(launch.block), args, cuda::stream());
  }
  void launch_edges(dirac::CudaHopArgs& args, const HopCall& call, cudaStream_t stream) const {
    const cuda::DeviceArray<int>& sites = edge_sites_[int(call.parity)];
    if (sites.count() == 0) return;
    args.geometry = dirac::geometry_of(dims(), call.parity);
    args.edges.sites = sites.get();
    args.edges.count = int(sites.count());
    launch_threads(variant_of(call).edge_kernel(), args.edges.count, args, stream);
  }
  static void launch_threads(const void* kernel, std::int64_t count, dirac::CudaHopArgs& args, cudaStream_t stream) {
    constexpr int threads = dirac::edge_threads;
    launch_kernel(kernel, dim3(unsigned((count + threads - 1) / threads)), dim3(threads), args, stream);
  }
  static void launch_kernel(const void* kernel, dim3 grid, dim3 block, dirac::CudaHopArgs& args, cudaStream_t stream) {
    void* parameters[] = {&args};
    QUADRILLE_CUDA_CHECK(cudaLaunchKernel(kernel, grid, block, parameters, 0, stream));
  }

  HopSetup setup_;
  const KernelEntry& entry_;
  dirac::CudaLocalKernel local_;
  dirac::CudaHopArgs args_;
  std::array<cuda::DeviceArray<int>, 2> edge_sites_;  ///< by parity
  std::unique_ptr<CudaHalo> halo_;                    ///< null on the only rank
  mutable std::optional<HopVariant> variants_[2];     ///< without and with terms
};

}  // namespace

std::unique_ptr<HopKernel> make_hop_cuda(const HopSetup& setup) { return std::make_unique<CudaHop>(setup); }

}  // namespace quadrille
