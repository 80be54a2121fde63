// Numbers as they stand in files, big-endian, on a machine that is little-endian: on the host and on devices.
#pragma once

#include "core/host_device.h"

#include <cstdint>
#include <cstring>

namespace quadrille {

QUADRILLE_HOST_DEVICE std::uint32_t bytes_reversed(std::uint32_t word) {
#ifdef __CUDA_ARCH__
  return __byte_perm(word, 0, 0x0123);
#else
  return __builtin_bswap32(word);
#endif
}
QUADRILLE_HOST_DEVICE std::uint64_t bytes_reversed(std::uint64_t word) {
  return std::uint64_t(bytes_reversed(std::uint32_t(word))) << 32 | bytes_reversed(std::uint32_t(word >> 32));
}

/// Numbers of 32 or 64 bits as they stand in files, big-endian.
template <class Real>
struct BigEndian;
template <>
struct BigEndian<double> {
  using Word = std::uint64_t;
};
template <>
struct BigEndian<float> {
  using Word = std::uint32_t;
};
template <class Real>
QUADRILLE_HOST_DEVICE void put_big_endian(void* bytes, std::int64_t index, double number) {
  const Real real = Real(number);
  typename BigEndian<Real>::Word word;
  memcpy(&word, &real, sizeof word);
  static_cast<typename BigEndian<Real>::Word*>(bytes)[index] = bytes_reversed(word);
}
template <class Real>
QUADRILLE_HOST_DEVICE double get_big_endian(const void* bytes, std::int64_t index) {
  const typename BigEndian<Real>::Word word =
      bytes_reversed(static_cast<const typename BigEndian<Real>::Word*>(bytes)[index]);
  Real real;
  memcpy(&real, &word, sizeof real);
  return double(real);
}

}  // namespace quadrille
