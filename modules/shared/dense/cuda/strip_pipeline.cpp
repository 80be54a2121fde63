#include "modules/shared/dense/cuda/strip_pipeline.h"

#include <algorithm>

namespace quadrille::cuda {
namespace {}  // namespace

template <class T>
bool StripPipeline<T>::suits(DenseView<const T> a, DenseView<const T> b, DenseView<T> c, const StripPlan& plan) {
  // The last blocks are the smallest.
  const std::int64_t row = (plan.row_blocks() - 1) * plan.rows, rows = plan.shape.m - row;
  const std::int64_t first = (plan.depth_blocks() - 1) * plan.depth, depth = plan.shape.k - first;
  const std::int64_t column = (plan.strips() - 1) * plan.columns, columns = plan.shape.n - column;
  return HostLink::is_direct(a.block(0, 0, plan.rows, plan.depth)) &&
         HostLink::is_direct(a.block(row, first, rows, depth)) &&
         HostLink::is_direct(b.block(0, 0, plan.depth, plan.columns)) &&
         HostLink::is_direct(b.block(first, column, depth, columns)) &&
         HostLink::is_direct(c.block(0, 0, plan.rows, plan.columns).constant()) &&
         HostLink::is_direct(c.block(row, column, rows, columns).constant());
}

template <class T>
StripPipeline<T>::StripPipeline(DenseView<const T> a, DenseView<const T> b, T beta, DenseView<T> c,
                                const StripPlan& plan)
    : a_(a),
      b_(b),
      beta_(beta),
      c_(c),
      plan_(plan),
      a_memory_(plan.rows * plan.depth, "a block of a staged product", staging_advice),
      arrived_(make_event()),
      multiplied_(make_event()) {
  for (int i = 0; i < StripPlan::buffers; ++i) {
    of_b_.push_back(
        {DeviceArray<T>(plan.depth * plan.columns, "a strip of a staged product", staging_advice), make_event()});
    of_c_.push_back(
        {DeviceArray<T>(plan.rows * plan.columns, "a strip of a staged product", staging_advice), make_event()});
  }
  for (std::int64_t strip = 0; strip < plan.strips(); ++strip) written_.push_back(make_event());
  // The pool gives memory in the order of the backend's stream: the others must not use it before.
  record(multiplied_, stream());
  wait(link_.up(), multiplied_);
  wait(link_.down(), multiplied_);
}

template <class T>
DenseView<const T> StripPipeline<T>::send(DenseView<const T> matrix, T* to) {
  link_.send(matrix, to);
  traffic_.up += matrix.rows * matrix.cols * std::int64_t(sizeof(T));
  return matrix.packed(static_cast<const T*>(to));
}

template <class T>
void StripPipeline<T>::send_a(const Block& rows, const Block& depth) {
  wait(link_.up(), multiplied_);  // by the block before
  a_there_ = send(a_.block(rows.first, depth.first, rows.count, depth.count), a_memory_.get());
}

template <class T>
void StripPipeline<T>::pass_strip(const Block& rows, const Block& depth, std::int64_t strip,
                                  const StripProduct<T>& product) {
  const std::int64_t first = strip * plan_.columns, columns = std::min(plan_.columns, plan_.shape.n - first);
  const std::size_t turn = std::size_t(turn_++ % StripPlan::buffers);
  Strip &b = of_b_[turn], &c = of_c_[turn];
  const T beta = depth.first == 0 ? beta_ : T(1);
  const DenseView<T> c_here = c_.block(rows.first, first, rows.count, columns);
  wait(link_.up(), b.free);  // an event that was never recorded is not waited for
  const auto b_there = send(b_.block(depth.first, first, depth.count, columns), b.memory.get());
  if (beta != T(0)) {
    wait(link_.up(), c.free);
    wait(link_.up(), written_[std::size_t(strip)]);
    (void)send(c_here.constant(), c.memory.get());
  } else {
    wait(stream(), c.free);
  }
  record(arrived_, link_.up());
  wait(stream(), arrived_);
  product(a_there_, b_there, beta, {c.memory.get(), rows.count, columns, rows.count, false});
  record(b.free, stream());
  record(multiplied_, stream());
  wait(link_.down(), multiplied_);
  link_.receive(static_cast<const T*>(c.memory.get()), c_here);
  // What passes through buffers is queued, and taken out of them, by this thread.
  if (!HostLink::is_direct(c_here.constant())) link_.finish_receiving();
  record(c.free, link_.down());
  record(written_[std::size_t(strip)], link_.down());
  traffic_.down += rows.count * columns * std::int64_t(sizeof(T));
}

template <class T>
PipelineTraffic StripPipeline<T>::run(const StripProduct<T>& product) {
  const auto block = [](std::int64_t number, std::int64_t size, std::int64_t all) {
    return Block{number * size, std::min(size, all - number * size)};
  };
  for (std::int64_t p = 0; p < plan_.row_blocks(); ++p) {
    const Block rows = block(p, plan_.rows, plan_.shape.m);
    for (std::int64_t q = 0; q < plan_.depth_blocks(); ++q) {
      const Block depth = block(q, plan_.depth, plan_.shape.k);
      send_a(rows, depth);
      for (std::int64_t strip = 0; strip < plan_.strips(); ++strip) pass_strip(rows, depth, strip, product);
    }
  }
  link_.finish_receiving();
  return traffic_;
}

template class StripPipeline<double>;
template class StripPipeline<float>;

}  // namespace quadrille::cuda
