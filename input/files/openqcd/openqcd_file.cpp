#include "input/files/openqcd/openqcd_file.h"

#include "core/error.h"
#include "core/numbers/big_endian.h"
#include "input/files/plain/plain_links.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

namespace quadrille {
namespace {

constexpr std::size_t head_bytes = 24, link_bytes = 18 * sizeof(double), point_bytes = 8 * link_bytes;
constexpr int reals_of_site = 72;

HeaderExtents extents_of(const unsigned char* start) {
  const auto extent = [&](std::size_t mu) { return std::uint64_t(header_word<std::uint32_t>(start + 4 * mu)); };
  return {extent(1), extent(2), extent(3), extent(0)};
}

double plaquette_of(const unsigned char* start) { return header_word<double>(start + 16); }

/// Where the record of an odd point stands among those.
std::int64_t odd_number(const Dims& dims, const Dims& x) {
  return (((std::int64_t(x[3]) * dims[0] + x[0]) * dims[1] + x[1]) * dims[2] + x[2]) / 2;
}

bool is_odd(const Dims& x) { return ((x[0] + x[1] + x[2] + x[3]) & 1) != 0; }

/// Of direction mu = x, y, z, t among the links of a point.
std::size_t place_of(int mu, bool backward) { return std::size_t(2 * ((mu + 1) % 4) + (backward ? 1 : 0)); }

SiteReader reader_of(const InputFile& file, const Dims& dims) {
  return [&file, dims](std::byte* bytes, std::int64_t first, std::int64_t count) {
    std::array<std::byte, point_bytes> point;
    for (std::int64_t k = 0; k < count; ++k) {
      const Dims x = site_coordinates(dims, first + k);
      const bool odd = is_odd(x);
      if (odd) file.read(head_bytes + std::uint64_t(odd_number(dims, x)) * point_bytes, point.data(), point_bytes);
      for (int mu = 0; mu < 4; ++mu) {
        if (!odd) {
          Dims ahead = x;
          ahead[std::size_t(mu)] = (x[std::size_t(mu)] + 1) % dims[std::size_t(mu)];
          file.read(head_bytes + std::uint64_t(odd_number(dims, ahead)) * point_bytes + place_of(mu, true) * link_bytes,
                    point.data() + place_of(mu, false) * link_bytes, link_bytes);
        }
        for (std::int64_t n = 0; n < 18; ++n) {
          double number;
          std::memcpy(&number, point.data() + place_of(mu, false) * link_bytes + std::size_t(n) * sizeof number,
                      sizeof number);
          put_big_endian<double>(bytes, k * reals_of_site + mu * 18 + n, number);
        }
      }
    }
    return WordSums{};
  };
}

template <class T>
void put_word(std::string& to, T word) {
  to.append(reinterpret_cast<const char*>(&word), sizeof word);
}

/// A link of a slice.
const double* link_in(const std::vector<double>& slice, const Dims& dims, const Dims& x, int mu) {
  const std::int64_t site = (std::int64_t(x[2]) * dims[1] + x[1]) * dims[0] + x[0];
  return slice.data() + (site * 4 + mu) * 18;
}

/// The links of the odd points of slice t, of which `now` are the links and `before` those of the slice before.
std::string points_of_slice(const std::vector<double>& now, const std::vector<double>& before, const Dims& dims,
                            int t) {
  std::string out;
  Dims x{0, 0, 0, t};
  for (x[0] = 0; x[0] < dims[0]; ++x[0]) {
    for (x[1] = 0; x[1] < dims[1]; ++x[1]) {
      for (x[2] = 0; x[2] < dims[2]; ++x[2]) {
        if (!is_odd(x)) continue;
        for (const int mu : {3, 0, 1, 2}) {
          Dims behind = x;
          behind[std::size_t(mu)] = (x[std::size_t(mu)] + dims[std::size_t(mu)] - 1) % dims[std::size_t(mu)];
          for (const double* link : {link_in(now, dims, x, mu), link_in(mu == 3 ? before : now, dims, behind, mu)}) {
            out.append(reinterpret_cast<const char*>(link), link_bytes);
          }
        }
      }
    }
  }
  return out;
}

}  // namespace

std::uint64_t openqcd_size(const unsigned char* start) {
  const HeaderExtents dims = extents_of(start);
  for (const std::uint64_t extent : dims) {
    if (extent < 1 || extent > largest_extent) return 0;
  }
  const unsigned __int128 bytes = links_bytes(dims, 18, 64) + head_bytes;
  return bytes >> 63 == 0 ? std::uint64_t(bytes) : 0;
}

HeaderLines openqcd_header(const InputFile& file) {
  const std::vector<unsigned char> start = start_of(file, head_bytes);
  return {{"content", "gauge field"},
          {"dims", extents_line(extents_of(start.data()))},
          {"precision", "64 bits (little-endian)"},
          {"stated", fmt::format("plaquette = {:.15g} (trace: 3 for unit links)", plaquette_of(start.data()))}};
}

GaugeFileInfo locate_openqcd_gauge(const std::string& path) {
  const InputFile file(path);
  const std::vector<unsigned char> start = start_of(file, head_bytes);
  GaugeFileInfo info;
  info.path = path;
  info.format = "openqcd";
  info.precision = 64;
  info.dims = even_dims(file, extents_of(start.data()));
  info.plain = {.data_byte = head_bytes, .rows = 3, .big_endian = false};
  info.stated.push_back({.key = "plaquette / 3",
                         .of = &GaugeObservables::plaquette,
                         .value = plaquette_of(start.data()) / 3,
                         .allowed = link_tolerance(64),
                         .byte = 16});
  return info;
}

GaugeFile read_openqcd_gauge(const std::string& path, const GaugeReadOptions& options) {
  const InputFile file(path);
  GaugeFileInfo info = locate_openqcd_gauge(path);
  const SiteReader reader = reader_of(file, info.dims);
  return read_links(reader, std::move(info), options);
}

void write_openqcd_gauge(const std::string& path, const GaugeStore& links, const GaugeExport& options) {
  if (options.precision == 32 || options.rows == 2) {
    throw Error(ErrorCode::invalid_input, "openQCD's format has numbers of 64 bits and three rows of each link");
  }
  const Dims& dims = links.lattice().global_dims();
  AtomicFile file(path);
  std::string head;
  for (const std::size_t mu : {3, 0, 1, 2}) put_word(head, std::uint32_t(dims[mu]));
  put_word(head, 3 * links.observables().plaquette);
  file.write(head);
  std::vector<double> before = links_of_slice(links, dims[3] - 1);
  for (int t = 0; t < dims[3]; ++t) {
    std::vector<double> now = links_of_slice(links, t);
    file.write(points_of_slice(now, before, dims, t));
    before = std::move(now);
  }
  file.commit();
}

}  // namespace quadrille
