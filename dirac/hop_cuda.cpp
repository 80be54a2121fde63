// Hopping kernels on the GPU: gathers what generated kernels need and launches them, a thread a site (and, of lists, a
// few calls): one kernel for all sites, or where edges are special (dirac/cuda/hop_args.h) one for those that are at
// none and then one for the others.
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

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
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

/// The sites of a parity that are at special edges, one tile after the other: the sites of a thread block share most of
/// their neighbours, and rows along x are long runs of memory.
std::vector<int> special_sites(const Dims& dims, Parity p, const dirac::CudaEdges& edges) {
  constexpr dirac::Tile tile{8, 4, 4, 4};  // of a face 128 sites
  const GroupedGeometry geometry = dirac::geometry_of(dims, p);
  std::vector<std::array<int, 5>> ordered;  // place of the tile from t to x, then site
  const int all = geometry.half_x * geometry.y * geometry.z * geometry.t;
  for (int site = 0; site < all; ++site) {
    const GroupedSite here(geometry, site);
    if (edges.inner(here)) continue;
    ordered.push_back({here.t / tile[3], here.z / tile[2], here.y / tile[1], here.xh / tile[0], site});
  }
  std::sort(ordered.begin(), ordered.end());
  std::vector<int> sites;
  for (const std::array<int, 5>& place : ordered) sites.push_back(place[4]);
  return sites;
}

int device_attribute(cudaDeviceAttr which) {
  int device = 0, value = 0;
  QUADRILLE_CUDA_CHECK(cudaGetDevice(&device));
  QUADRILLE_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

/// A kernel and the ways to launch it, Walk for one call or ListWalk for lists of one length.
template <class Way>
class Launches {
 public:
  /// make(most_threads, resident) as dirac::possible_walks.
  template <class Make>
  Launches(const void* kernel, Make&& make) : kernel_(kernel) {
    QUADRILLE_CUDA_CHECK(cudaFuncGetAttributes(&attributes_, kernel));
    // Nothing is kept in shared memory: all of it serves as first-level cache.
    QUADRILLE_CUDA_CHECK(
        cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxL1));
    const int multiprocessors = device_attribute(cudaDevAttrMultiProcessorCount);
    ways_ =
        make(attributes_.maxThreadsPerBlock, [&](int threads) { return blocks_at_once(threads) * multiprocessors; });
    for (const Way& way : ways_) names_.push_back(dirac::to_string(way));
  }

  const void* kernel() const { return kernel_; }
  const std::vector<Way>& ways() const { return ways_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Index in ways(), without and with z.
  std::optional<std::size_t>& chosen(bool z) { return chosen_[z]; }
  std::string resources() const {
    const std::optional<std::size_t> chosen = chosen_[0] ? chosen_[0] : chosen_[1];
    if (!chosen) return "";
    const int threads = threads_of(ways_[*chosen]);
    return fmt::format("{} registers, {} bytes local, {} of {} warps, walk {}", attributes_.numRegs,
                       attributes_.localSizeBytes, blocks_at_once(threads) * ((threads + 31) / 32),
                       device_attribute(cudaDevAttrMaxThreadsPerMultiProcessor) / 32, names_[*chosen]);
  }

 private:
  static int threads_of(const dirac::Walk& walk) { return dirac::volume(walk.tile); }
  static int threads_of(const dirac::ListWalk& way) { return way.abreast * dirac::volume(way.walk.tile); }
  int blocks_at_once(int threads) const {
    int blocks = 0;
    QUADRILLE_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_, threads, 0));
    return blocks;
  }

  const void* kernel_;
  cudaFuncAttributes attributes_{};
  std::vector<Way> ways_;
  std::vector<std::string> names_;
  std::optional<std::size_t> chosen_[2];
};

/// The kernels of a hop with or without site-local terms other than numbers.
class HopVariant {
 public:
  HopVariant(const dirac::CudaHopKernels& kernels, const Dims& dims, bool special_edges)
      : kernels_(kernels),
        dims_(dims),
        one_(special_edges ? kernels.inner : kernels.whole, [&](int most_threads, auto&& resident) {
          return dirac::possible_walks(dims_, most_threads, if_it_walks(resident));
        }) {}

  /// On all sites, or on those at no special edge.
  Launches<dirac::Walk>& one() { return one_; }
  /// The same for `groups` groups of calls_a_thread() calls; made on first use.
  Launches<dirac::ListWalk>& lists(int groups) {
    const auto make = [&](int most_threads, auto&& resident) {
      return dirac::possible_list_walks(dims_, groups, most_threads, if_it_walks(resident));
    };
    return lists_.try_emplace(groups, kernels_.lists, make).first->second;
  }
  /// What was chosen for the next longer lists that had a choice; null: none had.
  const dirac::ListWalk* chosen_for_longer(int groups, bool z) {
    for (auto longer = lists_.upper_bound(groups); longer != lists_.end(); ++longer) {
      const std::optional<std::size_t> chosen = longer->second.chosen(z);
      if (chosen) return &longer->second.ways().at(*chosen);
    }
    return nullptr;
  }
  int calls_a_thread() const { return kernels_.calls; }
  /// On the sites at special edges, of any list.
  const void* edge_kernel() const { return kernels_.edges; }

 private:
  template <class Resident>
  std::function<int(int)> if_it_walks(Resident&& resident) const {
    return [this, resident](int threads) { return kernels_.walks ? resident(threads) : 0; };
  }

  dirac::CudaHopKernels kernels_;
  Dims dims_;
  Launches<dirac::Walk> one_;
  std::map<int, Launches<dirac::ListWalk>> lists_;
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
  std::string resources(std::size_t calls) const override {
    const auto of = [&](HopVariant& variant) {
      const int groups = groups_of(calls / parts_of(calls), variant);
      return groups > 0 ? variant.lists(groups).resources() : variant.one().resources();
    };
    const std::string plain = of(variant(false)), terms = variants_[1] ? of(*variants_[1]) : "";
    return plain + (plain.empty() || terms.empty() ? "" : "; ") + (terms.empty() ? "" : "with terms " + terms);
  }
  void run(const HopCall& call) const override {
    for_each_part(call, [&](const HopCall& part) { run_part(part, std::nullopt); });
  }
  void run_local(const HopCall& call) const override {
    for_each_part(call, [&](const HopCall& part) {
      dirac::CudaHopListArgs args = bound(part);
      args.geometry = dirac::geometry_of(dims(), part.parity);
      args.blocks = args.count;
      launch_threads(local_.function, setup_.spinor.lattice->half_volume(), args, cuda::stream());
    });
  }
  std::size_t ways(std::size_t calls) const override {
    HopVariant& plain = variant(false);
    const int groups = groups_of(calls, plain);
    return groups > 0 ? plain.lists(groups).ways().size() : plain.one().ways().size();
  }
  void run_in(std::size_t way, const HopCall& call) const override {
    for_each_part(call, [&](const HopCall& part) { run_part(part, way); });
  }

 private:
  const Communicator& communicator() const { return setup_.spinor.lattice->communicator(); }
  const Dims& dims() const { return setup_.spinor.lattice->dims(); }

  /// Parts of a list that a launch can work on, of about equal length.
  static std::size_t parts_of(std::size_t calls) { return (calls + dirac::most_calls - 1) / dirac::most_calls; }
  template <class F>
  static void for_each_part(const HopCall& call, F&& f) {
    const std::size_t count = call.list.size(), parts = parts_of(count);
    for (std::size_t k = 0; k < parts; ++k) {
      const std::size_t first = count * k / parts;
      f(call.part(first, count * (k + 1) / parts - first));
    }
  }
  /// Groups of calls that the kernel for lists works on; the rest, fewer than a thread has, goes one after the other.
  static int groups_of(std::size_t calls, const HopVariant& variant) {
    return calls == 1 ? 0 : int(calls) / variant.calls_a_thread();
  }
  /// In one of the ways, or the one to choose.
  void run_part(const HopCall& call, std::optional<std::size_t> way) const {
    HopVariant& variant = variant_of(call);
    const int groups = groups_of(call.list.size(), variant);
    const std::size_t listed = std::size_t(groups * variant.calls_a_thread());
    const HopCall rest = call.part(listed, call.list.size() - listed);
    const auto way_of = [&](auto& launches, const HopCall& like, const auto* model) {
      return way ? *way % launches.ways().size() : choice(launches, like, model);
    };
    // Choices are made before messages are under way: they are collective.
    const std::size_t list_way = groups == 0 ? 0
                                             : way_of(variant.lists(groups), call.part(0, listed),
                                                      variant.chosen_for_longer(groups, call.has_z()));
    const dirac::Walk* no_model = nullptr;
    const std::size_t one_way = rest.list.empty() ? 0 : way_of(variant.one(), rest.part(0, 1), no_model);
    if (halo_) halo_->start(call);
    if (groups > 0) launch(variant.lists(groups), list_way, bound(call.part(0, listed)), call.parity);
    for (std::size_t k = 0; k < rest.list.size(); ++k)
      launch(variant.one(), one_way, bound(rest.part(k, 1)), call.parity);
    launch_edges(call);
  }
  dirac::CudaHopListArgs bound(const HopCall& call) const { return dirac::bound(args_, setup_, call); }

  HopVariant& variant_of(const HopCall& call) const { return variant(call.has_terms()); }
  /// Made on first use.
  HopVariant& variant(bool site_terms) const {
    std::optional<HopVariant>& made = variants_[site_terms];
    if (!made) made.emplace(entry_.kernels(setup_.form.temporal_gauge, site_terms), dims(), args_.edges.special);
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

  /// Chosen at the first call, by rank 0: it measures, the others take what it found. `model`: what was chosen for
  /// longer lists, or null.
  template <class Way>
  std::size_t choice(Launches<Way>& launches, const HopCall& call, const Way* model) const {
    std::optional<std::size_t>& chosen = launches.chosen(call.has_z());
    if (!chosen) {
      std::size_t found = communicator().rank() == 0 ? choose(launches, call, model) : 0;
      communicator().broadcast(&found, sizeof found, 0);
      chosen = found;
    }
    return *chosen;
  }

  TuningKey key_of(const HopCall& call) const {
    const std::size_t calls = call.list.size();
    return {
        call.list.front().y->desc().backend->device() + ", " + architecture(), build,
        fmt::format("{}{}{}{}{}{} {}x{}x{}x{}", entry_.name, setup_.form.temporal_gauge ? "_temporal_gauge" : "",
                    call.has_z() ? "_xpay" : "", call.has_terms() ? "_terms" : "", args_.edges.special ? "_inner" : "",
                    calls > 1 ? "_rhs" + std::to_string(calls) : "", dims()[0], dims()[1], dims()[2], dims()[3])};
  }

  /// A list that shrinks as its solves end keeps its way: measuring one for each length would take longer than it
  /// gains.
  std::size_t choose(const Launches<dirac::ListWalk>& launches, const HopCall& call,
                     const dirac::ListWalk* model) const {
    if (model == nullptr) return fastest(launches, call);
    const std::optional<int> known = tuner().known(key_of(call), launches.names());
    return known ? std::size_t(*known) : dirac::most_like(launches.ways(), *model);
  }
  std::size_t choose(const Launches<dirac::Walk>& launches, const HopCall& call, const dirac::Walk*) const {
    return fastest(launches, call);
  }

  /// The fastest way for lists like this one; measuring overwrites every y.
  template <class Way>
  std::size_t fastest(const Launches<Way>& launches, const HopCall& call) const {
    const FieldDesc& desc = call.list.front().y->desc();
    constexpr double long_enough = 400e-6;  // seconds that are told from the clock's own
    const TuningKey key = key_of(call);
    int times = 1;
    std::optional<cuda::StreamClock> clock;
    std::deque<Field> scratch;  // where y is read too
    std::vector<Operands> trial(call.list.begin(), call.list.end());
    const auto spare = [&] {
      for (Operands& operands : trial) {
        const bool in_place =
            operands.z != nullptr && operands.z->numbers(call.parity) == operands.y->numbers(call.parity);
        if (in_place) operands.y = &scratch.emplace_back(desc);
      }
    };
    const auto choice = [&] {
      return std::size_t(tuner().choose(key, launches.names(), [&](int candidate) {
        if (!clock) {
          clock.emplace();
          spare();
        }
        const dirac::CudaHopListArgs args = bound({trial, call.parity, call.dagger, call.on_sum, call.on_z});
        const double seconds = clock->seconds([&] {
          for (int i = 0; i < times; ++i) launch(launches, std::size_t(candidate), args, call.parity);
        }) / times;
        times = int(std::clamp(long_enough / std::max(seconds, 1e-9), 1.0, 8.0));
        return seconds;
      }));
    };
    try {
      return choice();
    } catch (const Error& error) {  // no memory for scratch, say: a launch that fails as well will say so itself
      log().debug("{} is not tuned: {}", entry_.name, error.what());
      return 0;
    }
  }

  /// Of one call.
  void launch(const Launches<dirac::Walk>& launches, std::size_t way, const dirac::CudaHopListArgs& args,
              Parity parity) const {
    const dirac::TiledLaunch tiled(dims(), parity, launches.ways().at(way));
    dirac::CudaHopArgs one{args, {args.calls[0]}};
    one.geometry = tiled.geometry;
    launch_kernel(launches.kernel(), extent(tiled.grid), extent(tiled.block), one, cuda::stream());
  }
  /// Of a list of whole groups.
  void launch(const Launches<dirac::ListWalk>& launches, std::size_t way, dirac::CudaHopListArgs args,
              Parity parity) const {
    const int groups = args.count / variant(false).calls_a_thread();
    const dirac::ListLaunch tiled(dims(), parity, launches.ways().at(way), groups);
    args.geometry = tiled.geometry;
    args.abreast = tiled.abreast;
    args.blocks = tiled.blocks;
    launch_kernel(launches.kernel(), extent(tiled.grid), extent(tiled.block), args, cuda::stream());
  }
  /// Of any list, once what comes from other ranks is there.
  void launch_edges(const HopCall& call) const {
    const cuda::DeviceArray<int>& sites = edge_sites_[int(call.parity)];
    if (sites.count() == 0) return;
    dirac::CudaHopListArgs args = bound(call);
    if (halo_) halo_->finish(args.edges);
    args.geometry = dirac::geometry_of(dims(), call.parity);
    args.edges.sites = sites.get();
    args.edges.count = int(sites.count());
    args.blocks = blocks_at_edges(args.edges.count, args.count);
    launch_threads(variant_of(call).edge_kernel(), args.edges.count, args, halo_ ? halo_->stream() : cuda::stream());
    if (halo_) halo_->join();
  }
  /// Blocks with the same sites, each for an equal share of the calls: as few as keep the device busy.
  static int blocks_at_edges(int sites, int calls) {
    constexpr int threads = 2048;  // of a multiprocessor
    static const int busy = threads * device_attribute(cudaDevAttrMultiProcessorCount);
    const int blocks = std::min(calls, (busy + sites - 1) / sites), share = (calls + blocks - 1) / blocks;
    return (calls + share - 1) / share;
  }
  /// A thread for each of `count` sites and each of args.blocks shares of the calls.
  static void launch_threads(const void* kernel, std::int64_t count, dirac::CudaHopListArgs& args,
                             cudaStream_t stream) {
    constexpr int threads = dirac::edge_threads;
    const dim3 grid(unsigned((count + threads - 1) / threads * args.blocks));
    launch_kernel(kernel, grid, dim3(threads), args, stream);
  }
  static dim3 extent(const std::array<int, 3>& n) { return dim3(unsigned(n[0]), unsigned(n[1]), unsigned(n[2])); }
  template <class Args>
  static void launch_kernel(const void* kernel, dim3 grid, dim3 block, Args& args, cudaStream_t stream) {
    void* parameters[] = {&args};
    QUADRILLE_CUDA_CHECK(cudaLaunchKernel(kernel, grid, block, parameters, 0, stream));
  }

  HopSetup setup_;
  const KernelEntry& entry_;
  dirac::CudaLocalKernel local_;
  dirac::CudaHopListArgs args_;
  std::array<cuda::DeviceArray<int>, 2> edge_sites_;  ///< by parity
  std::unique_ptr<CudaHalo> halo_;                    ///< null on the only rank
  mutable std::optional<HopVariant> variants_[2];     ///< without and with terms
};

}  // namespace

std::unique_ptr<HopKernel> make_hop_cuda(const HopSetup& setup) { return std::make_unique<CudaHop>(setup); }

}  // namespace quadrille
