#include "core/backend/cuda/panel_pipeline.h"

#include <utility>

namespace quadrille::cuda {
namespace {

constexpr const char* advice = "use a smaller memory cap, or free memory of the device";

void record(const OwnedEvent& event, cudaStream_t stream) {
  QUADRILLE_CUDA_CHECK(cudaEventRecord(event.get(), stream));
}
void wait(cudaStream_t stream, const OwnedEvent& event) {
  QUADRILLE_CUDA_CHECK(cudaStreamWaitEvent(stream, event.get(), 0));
}

}  // namespace

template <class T>
PanelPipeline<T>::PanelPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c,
                                const PanelPlan& plan)
    : a_(a), b_(b), beta_(beta), c_(c), plan_(plan) {
  make(a_panels_, plan_.rows() * plan_.depth());
  make(b_panels_, plan_.depth() * plan_.columns());
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
void PanelPipeline<T>::make(Buffers& buffers, std::int64_t numbers) {
  for (int i = 0; i < 2; ++i) {
    buffers.memory[i] = DeviceArray<T>(numbers, "a panel of a staged product", advice);
    buffers.arrived[i] = make_event();
    buffers.read[i] = make_event();
  }
}

template <class T>
void PanelPipeline<T>::load(Buffers& buffers, HostLink& link, DenseView<const T> block) {
  buffers.current = 1 - buffers.current;
  const int i = buffers.current;
  wait(link.up(), buffers.read[i]);  // an event that was never recorded is not waited for
  link.send(block, buffers.memory[i].get());
  record(buffers.arrived[i], link.up());
  buffers.panel[i] = {buffers.memory[i].get(), block.rows, block.cols, block.line_length(), block.by_rows};
  traffic_.up += block.rows * block.cols * std::int64_t(sizeof(T));
}

template <class T>
void PanelPipeline<T>::send_panels(const PanelStep& s) {
  if (s.load_a) load(a_panels_, link_, a_.block(s.row, s.depth, s.rows, s.depths));
  if (s.load_b) load(b_panels_, link_of_b_, b_.block(s.depth, s.column, s.depths, s.columns));
  link_.progress();
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
  if (plan_.steps() > 0) send_panels(plan_.step(0));
  for (std::int64_t number = 0; number < plan_.steps(); ++number) {
    const PanelStep s = plan_.step(number);
    const int of_a = a_panels_.current, of_b = b_panels_.current;
    if (s.begins_c) begin_c(s);
    wait(stream(), a_panels_.arrived[of_a]);
    wait(stream(), b_panels_.arrived[of_b]);
    product(s, a_panels_.panel[of_a].constant(), b_panels_.panel[of_b].constant(), s.begins_c ? beta_ : T(1), c_panel_);
    record(a_panels_.read[of_a], stream());
    record(b_panels_.read[of_b], stream());
    if (s.ends_c) end_c(s);
    // Only now: sending waits for the product before this one, whose panels it overwrites, and packs while this one
    // runs.
    if (number + 1 < plan_.steps()) send_panels(plan_.step(number + 1));
  }
  link_.finish_receiving();
  return traffic_;
}

template class PanelPipeline<double>;
template class PanelPipeline<float>;

}  // namespace quadrille::cuda
