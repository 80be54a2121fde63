#include "modules/block_dft/product/cuda/host_panels.h"

#include "core/system/memory.h"
#include "modules/block_dft/product/cuda/panels/panel_places.h"

#include <algorithm>

namespace quadrille::block_dft {
namespace {

/// Numbers that lie one behind the other on both sides.
struct Segment {
  std::int64_t from, count;
};

void send_numbers(const double* from, std::int64_t count, double* to, cuda::HostLink& link) {
  constexpr std::int64_t most = 1 << 27;  // what one copy of a line takes
  for (std::int64_t begin = 0; begin < count; begin += most) {
    const std::int64_t many = std::min(most, count - begin);
    link.send(DenseView<const double>{from + begin, many, 1, many, false}, to + begin);
  }
}

/// Where the panel's numbers lie, in order; counts its blocks and numbers.
std::vector<Segment> segments_of(const HostPanel& panel, DeviceMatrix::Data& there) {
  const PinnedMatrix::Data& m = panel.factor->matrix;
  std::vector<Segment> segments;
  for (std::int32_t i = panel.rows.begin; i < panel.rows.end; ++i) {
    const auto begin = m.column.begin() + m.first[std::size_t(i)], end = m.column.begin() + m.first[std::size_t(i) + 1];
    const auto from = std::lower_bound(begin, end, panel.columns.begin);
    const auto to = std::lower_bound(from, end, panel.columns.end);
    const std::int64_t source = m.at[std::size_t(from - m.column.begin())];
    const std::int64_t count = m.at[std::size_t(to - m.column.begin())] - source;
    there.blocks += to - from;
    there.numbers += count;
    if (!segments.empty() && segments.back().from + segments.back().count == source) {
      segments.back().count += count;
    } else if (count > 0) {
      segments.push_back({source, count});
    }
  }
  return segments;
}

}  // namespace

HostFactor::HostFactor(const PinnedMatrix::Data& from) : matrix(from) {
  places.rows = from.rows;
  places.columns = from.columns;
  places.symmetry = from.symmetry;
  places.blocks = std::int64_t(from.column.size());
  places.first = cuda::sent(from.first, device_what, device_advice);
  places.column = cuda::sent(from.column, device_what, device_advice);
  places.at = cuda::sent(from.at, device_what, device_advice);
}

SentPanel send_panel(const HostPanel& panel, cuda::HostLink& link) {
  SentPanel out{{}, cuda::make_event(), 0};
  DeviceMatrix::Data& there = out.there.data();
  const std::vector<Segment> segments = segments_of(panel, there);
  set_places(panel.factor->places, panel.rows, panel.columns, there);
  cuda::pass(out.arrived, cuda::stream(), link.up());
  double* to = there.numbers_there.get();
  try {
    for (const Segment& segment : segments) {
      send_numbers(panel.factor->matrix.numbers() + segment.from, segment.count, to, link);
      to += segment.count;
    }
    cuda::record(out.arrived, link.up());
  } catch (...) {  // the copies that are under way use the panel's memory
    (void)cudaStreamSynchronize(link.up());
    throw;
  }
  out.bytes = double(out.there.bytes());
  return out;
}

void PanelQueue::send_ahead() {
  constexpr std::size_t most_ahead = 2;
  while (next_ < panels_.size() && sent_.size() < most_ahead) {
    try {
      sent_.push_back(send_panel(panels_[next_], link_));
    } catch (const NotEnoughMemory&) {
      if (sent_.empty()) throw;
      return;  // when those have been taken
    }
    ++next_;
    bytes_sent_ += sent_.back().bytes;
  }
}

DeviceMatrix PanelQueue::take() {
  send_ahead();
  SentPanel panel = std::move(sent_.front());
  sent_.pop_front();
  cuda::wait(cuda::stream(), panel.arrived);
  return std::move(panel.there);
}

}  // namespace quadrille::block_dft
