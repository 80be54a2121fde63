#include "modules/eigen/cuda/arrival.h"

#include "core/backend/cuda/runtime.h"
#include "modules/eigen/device.h"
#include "modules/shared/dense/cuda/host_link.h"

namespace quadrille::eigen {
namespace {

bool is_on_device(const void* a) {
  cudaPointerAttributes attributes{};
  QUADRILLE_CUDA_CHECK(cudaPointerGetAttributes(&attributes, a));
  return attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
}

}  // namespace

template <class T>
void send_columns(std::int64_t rows, std::int64_t columns, const T* from, std::int64_t ld, There<T>* to) {
  constexpr std::int64_t parts = sizeof(T) / sizeof(double);
  if (rows == 0 || columns == 0) return;
  if (is_on_device(from)) return copy_columns(rows, columns, from, ld, reinterpret_cast<T*>(to), rows);
  cuda::HostLink link;
  cuda::pass(cuda::make_event(), cuda::stream(), link.up());
  link.send(DenseView<const double>{reinterpret_cast<const double*>(from), parts * rows, columns, parts * ld, false},
            reinterpret_cast<double*>(to));
  QUADRILLE_CUDA_CHECK(cudaStreamSynchronize(link.up()));
}

template void send_columns(std::int64_t, std::int64_t, const double*, std::int64_t, double*);
template void send_columns(std::int64_t, std::int64_t, const std::complex<double>*, std::int64_t, Complex*);

}  // namespace quadrille::eigen
