// Products of matrices in the host's memory, whose blocks and strips pass through the device's as a StripPlan says.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/device_array.h"
#include "modules/shared/dense/cuda/host_link.h"
#include "modules/shared/dense/cuda/panel_pipeline.h"
#include "modules/shared/dense/dense_view.h"
#include "modules/shared/dense/strip_plan.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace quadrille::cuda {

/// Asks, on the backend's stream, for c = beta c + (the product of a and b). beta = 0 does not read c.
template <class T>
using StripProduct = std::function<void(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c)>;

/// Runs a plan for matrices whose pieces the driver copies from and to where they are (HostLink::is_direct), so that
/// nothing is waited for until the end; with others it is slow. C is stored by columns; beta = 0 does not read it. The
/// result is in C when this returns.
template <class T>
class QUADRILLE_API StripPipeline {
 public:
  StripPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c, const StripPlan& plan);
  PipelineTraffic run(const StripProduct<T>& product);

  /// Whether that is so.
  static bool suits(DenseView<const T> a, DenseView<const T> b, DenseView<T> c, const StripPlan& plan);

 private:
  struct Strip {
    DeviceArray<T> memory;
    OwnedEvent free;  ///< what it was last used for has been done
  };
  struct Block {
    std::int64_t first, count;
  };
  void send_a(const Block& rows, const Block& depth);
  void pass_strip(const Block& rows, const Block& depth, std::int64_t strip, const StripProduct<T>& product);
  DenseView<const T> send(DenseView<const T> matrix, T* to);

  DenseView<const T> a_, b_;
  T beta_;
  DenseView<T> c_;
  StripPlan plan_;
  PipelineTraffic traffic_;
  DeviceArray<T> a_memory_;
  DenseView<const T> a_there_;
  OwnedEvent arrived_, multiplied_;
  std::vector<Strip> of_b_, of_c_;
  std::vector<OwnedEvent> written_;  ///< of each strip: C as it is on the host has its last partial sums
  std::int64_t turn_ = 0;
  HostLink link_;  ///< last: waits for what travels before buffers go
};

}  // namespace quadrille::cuda
