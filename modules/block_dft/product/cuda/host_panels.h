// Panels of a matrix in pinned memory on their way to the device.
#pragma once

#include "modules/block_dft/matrix/cuda/pinned_matrix.h"
#include "modules/block_dft/product/cuda/pieces.h"
#include "modules/shared/dense/cuda/host_link.h"

#include <deque>
#include <functional>

namespace quadrille::block_dft {

/// A matrix in pinned memory, and its places on the device.
struct HostFactor {
  const PinnedMatrix::Data& matrix;
  DeviceMatrix::Data places;  ///< without numbers
  explicit HostFactor(const PinnedMatrix::Data& from);
};

/// The blocks of a matrix in some rows and columns.
struct HostPanel {
  const HostFactor* factor;
  BlockRange rows, columns;
};

/// On the device, with the rows and columns of the whole matrix; its numbers when what waits for `arrived` goes on.
struct SentPanel {
  DeviceMatrix there;
  cuda::OwnedEvent arrived;
  double bytes = 0;
};

/// Queues a panel on link.up(), after all work on the backend's stream: its memory may be in use until
/// then.
SentPanel send_panel(const HostPanel& panel, cuda::HostLink& link);

/// Sends panels in order, two before they are taken: what the backend's stream is sent in between waits for them.
class PanelQueue {
 public:
  PanelQueue(std::vector<HostPanel> panels, cuda::HostLink& link) : panels_(std::move(panels)), link_(link) {}
  /// Asks for what may be on its way; call it while the backend's stream has nothing to do.
  void send_ahead();
  /// The next panel: later work on the backend's stream waits for it.
  DeviceMatrix take();
  double bytes_sent() const { return bytes_sent_; }

 private:
  std::vector<HostPanel> panels_;
  cuda::HostLink& link_;
  std::size_t next_ = 0;
  std::deque<SentPanel> sent_;
  double bytes_sent_ = 0;
};

}  // namespace quadrille::block_dft
