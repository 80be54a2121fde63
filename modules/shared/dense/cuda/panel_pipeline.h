// Products of matrices in the host's memory, whose panels pass through the device's in the order of a PanelPlan.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/device_array.h"
#include "modules/shared/dense/cuda/host_link.h"
#include "modules/shared/dense/cuda/panel_buffers.h"
#include "modules/shared/dense/dense_view.h"
#include "modules/shared/dense/panel_plan.h"

#include <cstdint>
#include <functional>

namespace quadrille::cuda {

/// How panels are kept: those of A and B in two buffers each, so that one is filled while the other is worked on, or in
/// more (use_the_rest); C in one, as a block of it stays for many products.
inline PanelMemory pipeline_memory(std::int64_t cap, int number_bytes) {
  PanelMemory memory;
  memory.cap = cap;
  memory.a_bytes = memory.b_bytes = memory.c_bytes = number_bytes;
  memory.ab_buffers = 2;
  memory.c_buffers = 1;
  return memory;
}

/// As many buffers as the plan leaves of the cap, which must be given: more panels can arrive while a block of C
/// leaves.
inline void use_the_rest(const PanelPlan& plan, PanelMemory& memory) {
  constexpr int most = 4;
  for (PanelMemory more = memory; ++more.ab_buffers <= most && plan.bytes(more) <= more.cap;) memory = more;
}

/// Asks, on the backend's stream, for C = beta C + (a product of the panels a and b). beta is 0 where C has just begun
/// and is not read, 1 where it holds the products before, and that of the call where C has come from the host.
template <class T>
using PanelProduct =
    std::function<void(const PanelStep& step, DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c)>;

/// Bytes that travelled, both ways.
struct PipelineTraffic {
  std::int64_t up = 0, down = 0;
};

/// Runs a plan. C is stored by columns; beta = 0 does not read it. The result is in C when this returns.
template <class T>
class QUADRILLE_API PanelPipeline {
 public:
  PanelPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c, const PanelPlan& plan,
                const PanelMemory& memory);
  PipelineTraffic run(const PanelProduct<T>& product);

 private:
  /// The panels of a step that are on their way or there.
  struct Sent {
    const typename PanelBuffers<T>::Panel *a, *b;
  };
  void load(PanelBuffers<T>& buffers, HostLink& link, DenseView<const T> block);
  Sent send_panels(const PanelStep& step);
  void begin_c(const PanelStep& step);
  void end_c(const PanelStep& step);

  DenseView<const T> a_, b_;
  T beta_;
  DenseView<T> c_;
  PanelPlan plan_;
  PipelineTraffic traffic_;
  PanelBuffers<T> a_panels_, b_panels_;
  DeviceArray<T> c_memory_;
  DenseView<T> c_panel_;
  OwnedEvent made_, c_sent_, c_arrived_, multiplied_;
  // Last: they wait for what travels before buffers go. Panels of B have a link of their own, and so pinned buffers of
  // their own to be packed into while those of A travel.
  HostLink link_, link_of_b_;
};

}  // namespace quadrille::cuda
