// A section of the sites of one parity, of any format, precision and layout, as groups of numbers that lie together:
// what moves sites between fields and messages bit for bit, on the host and on a device.
#pragma once

#include "core/field/field.h"
#include "core/host_device.h"
#include "core/layout/site_place.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace quadrille {

/// `n` bytes that lie at a multiple of n, moved at once.
template <int n>
QUADRILLE_HOST_DEVICE void copy_aligned(std::byte* to, const std::byte* from) {
  std::memcpy(__builtin_assume_aligned(to, n), __builtin_assume_aligned(from, n), n);
}

/// `bytes` bytes that lie at multiples of their largest power of two: a group of either layout.
QUADRILLE_HOST_DEVICE void copy_group(std::byte* to, const std::byte* from, int bytes) {
  if (bytes == 16) return copy_aligned<16>(to, from);
  if (bytes == 8) return copy_aligned<8>(to, from);
  if (bytes % 4 == 0) {
    for (int at = 0; at < bytes; at += 4) copy_aligned<4>(to + at, from + at);
    return;
  }
  for (int at = 0; at < bytes; at += 2) copy_aligned<2>(to + at, from + at);
}

/// [block][group][site of the block][number of the group]; in the vector layout a group is one number. Blocks begin
/// `block_bytes` apart.
struct SiteGroups {
  std::byte* first;           ///< of the section
  const std::int32_t* slots;  ///< of the vector layout, of each site; null: sites lie in even-odd order
  int together;               ///< sites of a block
  std::int64_t block_bytes;
  int site_bytes, group_bytes;  ///< of a site in this section, and of a group but the last

  QUADRILLE_HOST_DEVICE int groups() const { return (site_bytes + group_bytes - 1) / group_bytes; }
  /// The numbers from byte `at` of the site, `bytes` of which are a group.
  QUADRILLE_HOST_DEVICE std::byte* group(int site, int at, int bytes) const {
    const int slot = slots != nullptr ? slots[site] : site, block = slot / together;
    const int in_block = slot - block * together;
    return first + block * block_bytes + std::int64_t(at) * together + std::int64_t(in_block) * bytes;
  }
};

/// Group g of a site, between two sections of the same groups.
QUADRILLE_HOST_DEVICE void copy_group(const SiteGroups& to, int to_site, const SiteGroups& from, int from_site, int g) {
  const int at = g * from.group_bytes, left = from.site_bytes - at;
  const int bytes = left < from.group_bytes ? left : from.group_bytes;
  copy_group(to.group(to_site, at, bytes), from.group(from_site, at, bytes), bytes);
}
/// All groups of a site.
QUADRILLE_HOST_DEVICE void copy_site(const SiteGroups& to, int to_site, const SiteGroups& from, int from_site) {
  for (int g = 0; g < from.groups(); ++g) copy_group(to, to_site, from, from_site, g);
}

/// One section of the sites of a parity of a lattice.
struct SiteSection {
  SiteGroups groups;
  Extents extents;

  QUADRILLE_HOST_DEVICE int site(const SitePlace& place) const { return place.site(extents); }
};

/// Of a field that holds the parity; its norms are one section more, behind the others. ErrorCode::unsupported for
/// 2^32 sites or more.
SiteSection section_of(const Field& field, int section, Parity p);

}  // namespace quadrille
