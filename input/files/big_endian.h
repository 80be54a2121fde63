// Big-endian numbers, the byte order of LIME, ILDG and SciDAC files.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

namespace quadrille {

static_assert(std::endian::native == std::endian::little, "add the other byte order here");

inline std::uint16_t load_big_u16(const void* from) {
  std::uint16_t word;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap16(word);
}
inline std::uint32_t load_big_u32(const void* from) {
  std::uint32_t word;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap32(word);
}
inline std::uint64_t load_big_u64(const void* from) {
  std::uint64_t word;
  std::memcpy(&word, from, sizeof word);
  return __builtin_bswap64(word);
}
inline void store_big_u16(void* to, std::uint16_t word) {
  word = __builtin_bswap16(word);
  std::memcpy(to, &word, sizeof word);
}
inline void store_big_u32(void* to, std::uint32_t word) {
  word = __builtin_bswap32(word);
  std::memcpy(to, &word, sizeof word);
}
inline void store_big_u64(void* to, std::uint64_t word) {
  word = __builtin_bswap64(word);
  std::memcpy(to, &word, sizeof word);
}

}  // namespace quadrille
