#include "modules/eigen/device_needs.h"

#include "core/error.h"
#include "core/system/memory.h"

#include <fmt/format.h>

namespace quadrille::eigen {

template <class T>
void require_limits(std::int64_t n, const DeviceLimits& device) {
  if (device.shared_bytes < most_shared_bytes<T>) {
    throw Error(ErrorCode::unsupported,
                fmt::format("{} eigenproblems on a GPU take {} of shared memory for each block, this GPU has {}: use "
                            "--backend cpu",
                            is_complex<T> ? "complex" : "real", bytes_text(most_shared_bytes<T>),
                            bytes_text(device.shared_bytes)));
  }
  const std::int64_t most = panel_rows_of_processor * device.processors + 64;  // panels begin below the band
  if (n <= most) return;
  throw Error(
      ErrorCode::unsupported,
      fmt::format("an eigenproblem of {} rows: this GPU takes at most {}, {} for each of its {} multiprocessors "
                  "and 64: use --backend cpu",
                  n, most, panel_rows_of_processor, device.processors));
}

template <class T>
double host_bytes(std::int64_t n, const Fraction& fraction, bool generalized, bool check) {
  const double matrices = (generalized ? 2 : 1) * double(n) * double(n), vectors = double(n) * double(fraction.most(n));
  return sizeof(T) * (matrices + (check ? (generalized ? 4 : 3) : 1) * vectors);
}

template void require_limits<double>(std::int64_t, const DeviceLimits&);
template void require_limits<std::complex<double>>(std::int64_t, const DeviceLimits&);
template double host_bytes<double>(std::int64_t, const Fraction&, bool, bool);
template double host_bytes<std::complex<double>>(std::int64_t, const Fraction&, bool, bool);

}  // namespace quadrille::eigen
