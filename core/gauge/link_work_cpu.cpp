// Work on links on the CPU: threads share the items, in the order of memory.
#define QUADRILLE_ISA sites  // one lane: bodies that work on one site
#define QUADRILLE_SCALAR_LANES
#include "core/gauge/link_work_of.h"
#include "core/numbers/chunked_sum.h"

namespace quadrille {

namespace {

struct HostLoops {
  /// Fields of the grouped layout are worked on too: what devices do with them is tested so.
  template <class F>
  static void with_layout(const LinkView& view, F&& f) {
    if (view.lanes > 0) {
      f(std::false_type{});
    } else {
      f(std::true_type{});
    }
  }
  template <class Body>
  static void run(std::int64_t count, const Body& body) {
#pragma omp parallel for schedule(static)
    for (std::int64_t item = 0; item < count; ++item) body(item);
  }
  template <int N, class Body>
  static std::array<double, N> sums(std::int64_t count, const Body& body) {
    return chunked_sum<N>(count, [&](std::int64_t item, std::array<double, N>& sum) { body(item, sum.data()); });
  }
  template <int N, class Body>
  static std::array<Worst, N> worst(std::int64_t count, const Body& body) {
    std::array<Worst, N> all{};
#pragma omp parallel
    {
      std::array<Worst, N> mine{};
#pragma omp for schedule(static) nowait
      for (std::int64_t item = 0; item < count; ++item) body(item, mine.data());
#pragma omp critical(quadrille_worst)
      for (int n = 0; n < N; ++n) all[std::size_t(n)].meet(mine[std::size_t(n)].value, mine[std::size_t(n)].item);
    }
    return all;
  }
};

}  // namespace

const LinkWork& cpu_link_work() {
  static const LinkWorkOf<HostLoops> work;
  return work;
}

const LinkWork& link_work(const Backend& backend) {
  const std::string name = backend.name();
#ifdef QUADRILLE_HAVE_CUDA
  if (name == "cuda") return cuda_link_work();
#endif
  if (name == "cpu") return cpu_link_work();
  throw Error(ErrorCode::unsupported, "there is no work on links on the backend " + name);
}

}  // namespace quadrille
