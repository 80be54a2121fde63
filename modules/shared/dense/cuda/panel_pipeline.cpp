#include "modules/shared/dense/cuda/panel_pipeline.h"

#include <algorithm>
#include <vector>

namespace quadrille::cuda {
namespace {

constexpr const char* what = "a panel of a staged product";

}  // namespace

template <class T>
PanelPipeline<T>::PanelPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c,
                                const PanelPlan& plan, const PanelMemory& memory)
    : a_(a),
      b_(b),
      beta_(beta),
      c_(c),
      plan_(plan),
      a_panels_(memory.ab_buffers, plan.rows() * plan.depth(), what, staging_advice),
      b_panels_(memory.ab_buffers, plan.depth() * plan.columns(), what, staging_advice),
      c_memory_(plan.rows() * plan.columns(), "a block of a staged product", staging_advice),
      made_(make_event()),
      c_sent_(make_event()),
      c_arrived_(make_event()),
      multiplied_(make_event()) {
  // The pool gives memory in the order of the backend's stream: nothing is to travel into a block of C before.
  record(made_, stream());
  wait(link_.up(), made_);
  wait(link_.down(), made_);
}

template <class T>
void PanelPipeline<T>::load(PanelBuffers<T>& buffers, HostLink& link, DenseView<const T> block) {
  traffic_.up += block.rows * block.cols * std::int64_t(sizeof(T));
  buffers.load(link, block);
}

template <class T>
typename PanelPipeline<T>::Sent PanelPipeline<T>::send_panels(const PanelStep& s) {
  if (s.load_a) load(a_panels_, link_, a_.block(s.row, s.depth, s.rows, s.depths));
  if (s.load_b) load(b_panels_, link_of_b_, b_.block(s.depth, s.column, s.depths, s.columns));
  link_.progress();
  return {&a_panels_.current(), &b_panels_.current()};
}

template <class T>
void PanelPipeline<T>::begin_c(const PanelStep& s) {
  // The block before is queued as a whole, so that the event stands behind all of it.
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
  // for which its product must have been queued: the link waits for it, and panels are packed while it runs.
  const auto ahead = std::int64_t(a_panels_.count());
  std::vector<Sent> sent;
  for (std::int64_t number = 0; number < std::min(ahead, plan_.steps()); ++number) {
    sent.push_back(send_panels(plan_.step(number)));
  }
  for (std::int64_t number = 0; number < plan_.steps(); ++number) {
    const PanelStep s = plan_.step(number);
    Sent& panels = sent[std::size_t(number % ahead)];
    if (s.begins_c) begin_c(s);
    panels.a->begin_reading();
    panels.b->begin_reading();
    product(s, panels.a->view(), panels.b->view(), s.begins_c ? beta_ : T(1), c_panel_);
    panels.a->end_reading();
    panels.b->end_reading();
    if (s.ends_c) end_c(s);
    if (number + ahead < plan_.steps()) panels = send_panels(plan_.step(number + ahead));
  }
  link_.finish_receiving();
  return traffic_;
}

template class PanelPipeline<double>;
template class PanelPipeline<float>;

}  // namespace quadrille::cuda
