#include "core/backend/cuda/panel_pipeline.h"

#include <algorithm>
#include <utility>

namespace quadrille::cuda {
namespace {

constexpr const char* advice = "use a smaller memory cap, or free memory of the device";

}  // namespace

template <class T>
PanelPipeline<T>::PanelPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c,
                                const PanelPlan& plan, const PanelMemory& memory)
    : a_(a), b_(b), beta_(beta), c_(c), plan_(plan) {
  make(a_panels_, memory.ab_buffers, plan_.rows() * plan_.depth());
  make(b_panels_, memory.ab_buffers, plan_.depth() * plan_.columns());
  c_memory_ = DeviceArray<T>(plan_.rows() * plan_.columns(), "a block of a staged product", advice);
  made_ = make_event();
  c_sent_ = make_event();
  c_arrived_ = make_event();
  multiplied_ = make_event();
  // The pool gives memory in the order of the backend's stream: the others must not use it before.
  record(made_, stream());
  wait(link_.up(), made_);
  wait(link_of_b_.up(), made_);
  wait(link_.down(), made_);
}

template <class T>
void PanelPipeline<T>::make(Buffers& buffers, int count, std::int64_t numbers) {
  for (int i = 0; i < count; ++i) {
    buffers.all.push_back(
        {DeviceArray<T>(numbers, "a panel of a staged product", advice), make_event(), make_event(), {}});
  }
}

template <class T>
void PanelPipeline<T>::load(Buffers& buffers, HostLink& link, DenseView<const T> block) {
  buffers.current = (buffers.current + 1) % buffers.all.size();
  Buffer& buffer = buffers.all[buffers.current];
  wait(link.up(), buffer.read);  // an event that was never recorded is not waited for
  link.send(block, buffer.memory.get());
  record(buffer.arrived, link.up());
  buffer.panel = {buffer.memory.get(), block.rows, block.cols, block.line_length(), block.by_rows};
  traffic_.up += block.rows * block.cols * std::int64_t(sizeof(T));
}

template <class T>
typename PanelPipeline<T>::Sent PanelPipeline<T>::send_panels(const PanelStep& s) {
  if (s.load_a) load(a_panels_, link_, a_.block(s.row, s.depth, s.rows, s.depths));
  if (s.load_b) load(b_panels_, link_of_b_, b_.block(s.depth, s.column, s.depths, s.columns));
  link_.progress();
  return {&a_panels_.all[a_panels_.current], &b_panels_.all[b_panels_.current]};
}

template <class T>
void PanelPipeline<T>::begin_c(const PanelStep& s) {
  // The block before has been asked for as a whole, so that the event stands behind all of it.
  link_.finish_asking();
  record(c_sent_, link_.down());
  c_panel_ = {c_memory_.get(), s.rows, s.columns, s.rows, false};
  if (beta_ == T(0)) {
    wait(stream(), c_sent_);
    return;
  }
  wait(link_.up(), c_sent_);
  link_.send(c_.block(s.row, s.column, s.rows, s.columns).constant(), c_memory_.get());
  record(c_arrived_, link_.up());
  wait(stream(), c_arrived_);
  traffic_.up += s.rows * s.columns * std::int64_t(sizeof(T));
}

template <class T>
void PanelPipeline<T>::end_c(const PanelStep& s) {
  record(multiplied_, stream());
  wait(link_.down(), multiplied_);
  link_.receive(static_cast<const T*>(c_memory_.get()), c_.block(s.row, s.column, s.rows, s.columns));
  traffic_.down += s.rows * s.columns * std::int64_t(sizeof(T));
}

template <class T>
PipelineTraffic PanelPipeline<T>::run(const PanelProduct<T>& product) {
  // Panels are sent as many steps ahead as there are buffers. Those of step n overwrite what step n - ahead has read,
  // for which its product must have been asked for: the link waits for it, and panels are packed while it runs.
  const auto ahead = std::int64_t(a_panels_.all.size());
  std::vector<Sent> sent;
  for (std::int64_t number = 0; number < std::min(ahead, plan_.steps()); ++number) {
    sent.push_back(send_panels(plan_.step(number)));
  }
  for (std::int64_t number = 0; number < plan_.steps(); ++number) {
    const PanelStep s = plan_.step(number);
    Sent& panels = sent[std::size_t(number % ahead)];
    if (s.begins_c) begin_c(s);
    wait(stream(), panels.a->arrived);
    wait(stream(), panels.b->arrived);
    product(s, panels.a->panel.constant(), panels.b->panel.constant(), s.begins_c ? beta_ : T(1), c_panel_);
    record(panels.a->read, stream());
    record(panels.b->read, stream());
    if (s.ends_c) end_c(s);
    if (number + ahead < plan_.steps()) panels = send_panels(plan_.step(number + ahead));
  }
  link_.finish_receiving();
  return traffic_;
}

template class PanelPipeline<double>;
template class PanelPipeline<float>;

}  // namespace quadrille::cuda
