// What a build without CUDA has in place of cuda/.
#include "core/error.h"
#include "modules/block_dft/device.h"

namespace quadrille::block_dft {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "block-sparse products on a GPU: this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
}

}  // namespace

struct DeviceMatrix::Data {};

DeviceMatrix::DeviceMatrix() { refuse(); }
DeviceMatrix::DeviceMatrix(const BlockMatrix<double>&) { refuse(); }
DeviceMatrix::~DeviceMatrix() = default;
DeviceMatrix::DeviceMatrix(DeviceMatrix&&) noexcept = default;
DeviceMatrix& DeviceMatrix::operator=(DeviceMatrix&&) noexcept = default;
BlockMatrix<double> DeviceMatrix::fetch() const { refuse(); }
const BlockSizes& DeviceMatrix::rows() const { refuse(); }
const BlockSizes& DeviceMatrix::columns() const { refuse(); }
Symmetry DeviceMatrix::symmetry() const { refuse(); }
std::int64_t DeviceMatrix::block_count() const { refuse(); }
std::int64_t DeviceMatrix::stored() const { refuse(); }
std::int64_t DeviceMatrix::bytes() const { refuse(); }

MultiplyReport multiply_on_device(double, Transpose, const DeviceMatrix&, Transpose, const DeviceMatrix&, double,
                                  DeviceMatrix&, const MultiplyOptions&) {
  refuse();
}

}  // namespace quadrille::block_dft
