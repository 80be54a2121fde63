// Work on spinors in the memory of a GPU: from fields to the kernels of conversions.cu and propagator.cu.
#include "core/field/spinor_work.h"

#include "core/backend/cuda/kernels.h"
#include "core/backend/cuda/runtime.h"
#include "core/field/field.h"
#include "core/field/propagator.h"

#include <algorithm>
#include <cstddef>

namespace quadrille {
namespace cuda {
namespace {

Spinor spinor(const Field& field, Parity p) {
  return {const_cast<void*>(field.numbers(p)), const_cast<float*>(field.norms(p)), field.desc().precision};
}

PropagatorColumns columns(const Propagator& propagator) {
  PropagatorColumns all{};
  for (std::size_t c = 0; c < propagator.columns.size(); ++c) {
    for (Parity p : {Parity::Even, Parity::Odd}) {
      all.numbers[int(p)][c] = static_cast<double*>(const_cast<void*>(propagator.columns[c].numbers(p)));
    }
  }
  const Dims& dims = propagator.desc().lattice->dims();
  std::copy(dims.begin(), dims.end(), all.extents);
  all.rotate = propagator.sink == Propagator::Sink::ukqcd;
  return all;
}

template <class F>
void for_each_parity(const Field& field, F&& f) {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (field.holds(p)) f(p);
  }
}

class CudaSpinorWork final : public SpinorWork {
 public:
  void convert(Field& dst, const Field& src) const override {
    for_each_parity(dst, [&](Parity p) {
      const std::size_t bytes = dst.desc().parity_bytes();
      if (dst.desc().precision == src.desc().precision) {
        QUADRILLE_CUDA_CHECK(
            cudaMemcpyAsync(dst.numbers(p), src.numbers(p), bytes, cudaMemcpyDeviceToDevice, stream()));
      } else if (dst.desc().site == site_formats::spinor) {
        cuda::convert(spinor(dst, p), spinor(src, p), dst.lattice().half_volume());
      } else {
        cuda::convert_sites(spinor(dst, p), spinor(src, p), dst.desc().site, dst.lattice().half_volume());
      }
    });
  }
  void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) const override {
    for_each_parity(dst, [&](Parity p) {
      cuda::rotate(spinor(dst, p), spinor(src, p), static_cast<const double*>(g.numbers(p)), adjoint,
                   dst.lattice().half_volume());
    });
  }
  void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers) const override {
    cuda::put_site(spinor(dst, p), site, numbers);
  }
  void read(Field& dst, const ForeignSpinors& src) const override {
    for_each_parity(dst,
                    [&](Parity p) { cuda::read_spinors(spinor(dst, p), src, int(p), dst.lattice().half_volume()); });
  }
  void write(const ForeignSpinors& dst, const Field& src) const override {
    for_each_parity(src,
                    [&](Parity p) { cuda::write_spinors(dst, spinor(src, p), int(p), src.lattice().half_volume()); });
  }
  void pack_sites(void* bytes, const PropagatorPiece& piece) const override {
    cuda::pack_sites(bytes, columns(*piece.propagator), piece.first, piece.count, piece.precision);
  }
  void unpack_sites(const PropagatorPiece& piece, const void* bytes) const override {
    cuda::unpack_sites(columns(*piece.propagator), bytes, piece.first, piece.count, piece.precision);
  }
  std::vector<double> slice_norms(const Propagator& propagator) const override {
    return cuda::slice_norms(columns(propagator));
  }
};

}  // namespace
}  // namespace cuda

const SpinorWork& spinor_work_cuda() {
  static const cuda::CudaSpinorWork work;
  return work;
}

}  // namespace quadrille
