// What a build without CUDA has in place of the eigenproblem on a GPU.
#include "core/error.h"
#include "modules/eigen/device.h"

namespace quadrille::eigen {
namespace {

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported,
              "the eigenproblem on a GPU: this build has no CUDA kernels; configure it with -DQUADRILLE_CUDA=ON");
}

}  // namespace

template <class T>
struct DeviceFactor<T>::Data {};
template <class T>
DeviceFactor<T>::DeviceFactor(std::int64_t, const T*, std::int64_t, Triangle, const std::string&) {
  refuse();
}
template <class T>
DeviceFactor<T>::~DeviceFactor() = default;
template <class T>
DeviceFactor<T>::DeviceFactor(DeviceFactor&&) noexcept = default;
template <class T>
std::int64_t DeviceFactor<T>::n() const {
  refuse();
}
template <class T>
const Phase& DeviceFactor<T>::made() const {
  refuse();
}
template <class T>
Pairs<T> solve_on_device(const DeviceProblem<T>&) {
  refuse();
}
template <class T>
double device_bytes(std::int64_t, const Fraction&, bool) {
  refuse();
}
template <class T>
void require_device(std::int64_t, const Fraction&, bool) {
  refuse();
}

template class DeviceFactor<double>;
template class DeviceFactor<std::complex<double>>;
template Pairs<double> solve_on_device(const DeviceProblem<double>&);
template Pairs<std::complex<double>> solve_on_device(const DeviceProblem<std::complex<double>>&);
template double device_bytes<double>(std::int64_t, const Fraction&, bool);
template double device_bytes<std::complex<double>>(std::int64_t, const Fraction&, bool);
template void require_device<double>(std::int64_t, const Fraction&, bool);
template void require_device<std::complex<double>>(std::int64_t, const Fraction&, bool);

}  // namespace quadrille::eigen
