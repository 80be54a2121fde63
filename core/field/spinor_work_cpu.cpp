// Work on spinors in this process' memory, and the choice of a backend's.
#include "core/field/convert.h"
#include "core/field/propagator.h"
#include "core/field/spinor_work.h"

namespace quadrille {
namespace {

class CpuSpinorWork final : public SpinorWork {
 public:
  void convert(Field& dst, const Field& src) const override { host::convert(dst, src); }
  void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) const override {
    host::rotate(dst, src, g, adjoint);
  }
  void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers) const override {
    host::put_site(dst, p, site, numbers);
  }
  void read(Field& dst, const ForeignSpinors& src) const override { host::read_spinors(dst, src); }
  void write(const ForeignSpinors& dst, const Field& src) const override { host::write_spinors(dst, src); }
  void pack_sites(void* bytes, const PropagatorPiece& piece) const override { host::pack_sites(bytes, piece); }
  void unpack_sites(const PropagatorPiece& piece, const void* bytes) const override {
    host::unpack_sites(piece, bytes);
  }
  std::vector<double> slice_norms(const Propagator& propagator) const override { return host::slice_norms(propagator); }
};

}  // namespace

const SpinorWork& spinor_work_cpu() {
  static const CpuSpinorWork work;
  return work;
}

const SpinorWork& spinor_work(const Backend& backend) { return QUADRILLE_OF_BACKEND(backend.name(), spinor_work)(); }

}  // namespace quadrille
