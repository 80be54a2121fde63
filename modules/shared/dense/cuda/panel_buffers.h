// Where panels of a matrix in the host's memory arrive, one after the other, while those before are worked on.
#pragma once

#include "core/backend/cuda/device_array.h"
#include "modules/shared/dense/cuda/host_link.h"
#include "modules/shared/dense/dense_view.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace quadrille::cuda {

template <class T>
class PanelBuffers {
 public:
  /// A panel without gaps in the matrix's storage order, on its way or there. Work that the backend's stream gets
  /// between begin_reading() and end_reading() sees it; afterwards the buffer may be filled again.
  class Panel {
   public:
    const DenseView<const T>& view() const { return view_; }
    void begin_reading() const { wait(stream(), arrived_); }
    void end_reading() const { record(read_, stream()); }

   private:
    friend class PanelBuffers;
    DeviceArray<T> memory_;
    OwnedEvent arrived_ = make_event(), read_ = make_event();
    DenseView<const T> view_;
  };

  /// One buffer or more, of `numbers` each: with two, one is filled while the other is read. A HostLink that fills them
  /// is to end its life before they do.
  PanelBuffers(int count, std::int64_t numbers, const char* what, const char* advice) {
    for (int i = 0; i < count; ++i) {
      Panel panel;
      panel.memory_ = DeviceArray<T>(numbers, what, advice);
      panel.end_reading();  // the pool gives memory in the order of the backend's stream: it is there from here on
      panels_.push_back(std::move(panel));
    }
  }

  std::size_t count() const { return panels_.size(); }
  /// The last panel.
  const Panel& current() const { return panels_[current_]; }

  /// Asks for a block of the matrix, in the buffer that was filled longest ago.
  const Panel& load(HostLink& link, DenseView<const T> block) {
    current_ = (current_ + 1) % panels_.size();
    Panel& panel = panels_[current_];
    wait(link.up(), panel.read_);
    link.send(block, panel.memory_.get());
    record(panel.arrived_, link.up());
    panel.view_ = block.packed(static_cast<const T*>(panel.memory_.get()));
    return panel;
  }

 private:
  std::vector<Panel> panels_;
  std::size_t current_ = 0;
};

}  // namespace quadrille::cuda
