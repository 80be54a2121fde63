// What a build without CUDA has in place of cuda/.
#include "core/error.h"
#include "modules/block_dft/device.h"

namespace quadrille::block_dft {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "block-sparse matrices on a GPU: this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
}

}  // namespace

struct DeviceMatrix::Data {};

DeviceMatrix::DeviceMatrix() { refuse(); }
DeviceMatrix::DeviceMatrix(const BlockMatrix<double>&) { refuse(); }
DeviceMatrix::DeviceMatrix(const BlockSizes&, const BlockSizes&, Symmetry) { refuse(); }
DeviceMatrix::DeviceMatrix(const DeviceMatrix&) { refuse(); }
DeviceMatrix& DeviceMatrix::operator=(const DeviceMatrix&) { refuse(); }
DeviceMatrix::~DeviceMatrix() = default;
DeviceMatrix::DeviceMatrix(DeviceMatrix&&) noexcept = default;
DeviceMatrix& DeviceMatrix::operator=(DeviceMatrix&&) noexcept = default;
BlockMatrix<double> DeviceMatrix::fetch() const { refuse(); }
const BlockSizes& DeviceMatrix::rows() const { refuse(); }
const BlockSizes& DeviceMatrix::columns() const { refuse(); }
Symmetry DeviceMatrix::symmetry() const { refuse(); }
std::int64_t DeviceMatrix::block_count() const { refuse(); }
std::int64_t DeviceMatrix::stored() const { refuse(); }
double DeviceMatrix::occupation() const { refuse(); }
std::int64_t DeviceMatrix::bytes() const { refuse(); }

struct PinnedMatrix::Data {};

PinnedMatrix::PinnedMatrix() { refuse(); }
PinnedMatrix::PinnedMatrix(const BlockMatrix<double>&) { refuse(); }
PinnedMatrix::PinnedMatrix(const BlockSizes&, const BlockSizes&, Symmetry) { refuse(); }
PinnedMatrix::~PinnedMatrix() = default;
PinnedMatrix::PinnedMatrix(PinnedMatrix&&) noexcept = default;
PinnedMatrix& PinnedMatrix::operator=(PinnedMatrix&&) noexcept = default;
BlockMatrix<double> PinnedMatrix::copy() const { refuse(); }
const BlockSizes& PinnedMatrix::rows() const { refuse(); }
const BlockSizes& PinnedMatrix::columns() const { refuse(); }
Symmetry PinnedMatrix::symmetry() const { refuse(); }
std::int64_t PinnedMatrix::block_count() const { refuse(); }
std::int64_t PinnedMatrix::stored() const { refuse(); }
double PinnedMatrix::occupation() const { refuse(); }
std::int64_t PinnedMatrix::bytes() const { refuse(); }

MultiplyReport multiply(double, Transpose, const PinnedMatrix&, Transpose, const PinnedMatrix&, double, PinnedMatrix&,
                        const MultiplyOptions&) {
  refuse();
}
MultiplyReport multiply(double, Transpose, const DeviceMatrix&, Transpose, const DeviceMatrix&, double, DeviceMatrix&,
                        const MultiplyOptions&) {
  refuse();
}
void release_windows(const std::shared_ptr<const MatrixGrid>&) {}
double norm_of_product(double, Transpose, const DeviceMatrix&, Transpose, const DeviceMatrix&, double,
                       const DeviceMatrix&, const MultiplyOptions&) {
  refuse();
}
DeviceMatrix copied(const DeviceMatrix&) { refuse(); }
void scale(DeviceMatrix&, double) { refuse(); }
void add(double, DeviceMatrix&, double, const DeviceMatrix&) { refuse(); }
void add_identity(DeviceMatrix&, double) { refuse(); }
DeviceMatrix transposed(const DeviceMatrix&) { refuse(); }
DeviceMatrix without_symmetry(const DeviceMatrix&) { refuse(); }
DeviceMatrix with_symmetry(const DeviceMatrix&, Symmetry) { refuse(); }
double trace(const DeviceMatrix&) { refuse(); }
double dot(const DeviceMatrix&, const DeviceMatrix&) { refuse(); }
std::vector<double> row_dots(const DeviceMatrix&, const DeviceMatrix&) { refuse(); }
void scale_by_means(DeviceMatrix&, const std::vector<double>&) { refuse(); }
double frobenius_norm(const DeviceMatrix&) { refuse(); }
Interval gershgorin(const DeviceMatrix&) { refuse(); }
double row_sum_norm(const DeviceMatrix&) { refuse(); }
Filtered filter(DeviceMatrix&, double) { refuse(); }
void require_finite(const DeviceMatrix&, const std::string&) { refuse(); }
DeviceMemoryRates device_memory_rates() { refuse(); }
DeviceLinkRates device_link_rates() { refuse(); }
void require_dense_memory_on_device(std::int64_t, double) { refuse(); }
DenseDensity<DeviceMatrix> dense_density(const DeviceMatrix&, const DeviceMatrix&, const CountOccupied&) { refuse(); }

}  // namespace quadrille::block_dft
