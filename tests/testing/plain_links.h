// Gauge files of other programs, written from the descriptions of their formats; nothing here comes from input/files.
#pragma once

#include "core/field/host_field.h"
#include "core/gauge/gauge_store.h"

#include <bit>
#include <cstdint>
#include <cstdio>
#include <string>

namespace quadrille::testing {

inline void put_word(std::string& bytes, std::uint64_t word, unsigned count, bool big) {
  for (unsigned n = 0; n < count; ++n) bytes += char(word >> 8 * (big ? count - 1 - n : n) & 0xff);
}

/// The first rows of all links, x fastest, then y, z, t; mu, row, column, re and im at each site.
inline std::string link_bytes(const HostLinks& links, int rows, int bits, bool big) {
  std::string bytes;
  const auto put = [&](double number) {
    if (bits == 64)
      put_word(bytes, std::bit_cast<std::uint64_t>(number), 8, big);
    else
      put_word(bytes, std::bit_cast<std::uint32_t>(float(number)), 4, big);
  };
  for (std::size_t i = 0; i < links.data.size(); ++i) {
    if (int(i % 9) >= 3 * rows) continue;
    put(links.data[i].real());
    put(links.data[i].imag());
  }
  return bytes;
}

/// What such a file says: numbers rounded, then the third row made.
inline HostLinks stored_links(HostLinks links, int rows, int bits) {
  for (Complex& number : links.data)
    if (bits == 32) number = {double(float(number.real())), double(float(number.imag()))};
  for (std::size_t n = 0; n < links.data.size() && rows == 2; n += 9) {
    Complex* const u = links.data.data() + n;
    u[6] = std::conj(u[1] * u[5] - u[2] * u[4]);
    u[7] = std::conj(u[2] * u[3] - u[0] * u[5]);
    u[8] = std::conj(u[0] * u[4] - u[1] * u[3]);
  }
  return links;
}

inline std::uint32_t word_at(const std::string& bytes, std::size_t at, bool big) {
  std::uint32_t word = 0;
  for (std::size_t n = 0; n < 4; ++n)
    word |= std::uint32_t(static_cast<unsigned char>(bytes[at + n])) << 8 * (big ? 3 - n : n);
  return word;
}

struct NerscForm {
  int rows = 2;
  std::string numbers = "IEEE32BIG";

  int bits() const { return numbers.starts_with("IEEE64") ? 64 : 32; }
  bool big() const { return numbers.ends_with("BIG"); }
};

inline std::uint32_t nersc_sum(const std::string& data, bool big) {
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < data.size(); at += 4) sum += word_at(data, at, big);
  return sum;
}

inline std::string nersc_head(const HostLinks& links, const NerscForm& form, std::uint32_t sum) {
  const Lattice lattice(links.dims);
  const GaugeObservables seen = GaugeStore(lattice, stored_links(links, form.rows, form.bits())).observables();
  char numbers[200];
  std::snprintf(numbers, sizeof numbers, "LINK_TRACE = %.10f\nPLAQUETTE = %.10f\nCHECKSUM = %x\n", seen.link_trace,
                seen.plaquette, unsigned(sum));
  std::string head = "BEGIN_HEADER\nHDR_VERSION = 1.0\nDATATYPE = ";
  head += form.rows == 2 ? "4D_SU3_GAUGE\n" : "4D_SU3_GAUGE_3x3\n";
  for (std::size_t mu = 0; mu < 4; ++mu)
    head += "DIMENSION_" + std::to_string(mu + 1) + " = " + std::to_string(links.dims[mu]) + "\n";
  return head + numbers + "FLOATING_POINT = " + form.numbers + "\nEND_HEADER\n";
}

inline std::string nersc_bytes(const HostLinks& links, const NerscForm& form) {
  const std::string data = link_bytes(links, form.rows, form.bits(), form.big());
  return nersc_head(links, form, nersc_sum(data, form.big())) + data;
}

/// Odd points in the order t, x, y, z, z fastest; at each U(p, mu) and U(p - mu, mu) for mu = t, x, y, z.
inline std::string openqcd_bytes(const HostLinks& links, double plaquette) {
  const Lattice lattice(links.dims);
  const Dims& dims = links.dims;
  std::string bytes;
  for (const std::size_t mu : {3, 0, 1, 2}) put_word(bytes, std::uint64_t(dims[mu]), 4, false);
  put_word(bytes, std::bit_cast<std::uint64_t>(3 * plaquette), 8, false);
  const auto put_link = [&](const Dims& x, int mu) {
    const Complex* const u = links.link(lattice.site(x), mu);
    for (int n = 0; n < 9; ++n) {
      put_word(bytes, std::bit_cast<std::uint64_t>(u[n].real()), 8, false);
      put_word(bytes, std::bit_cast<std::uint64_t>(u[n].imag()), 8, false);
    }
  };
  for (int t = 0; t < dims[3]; ++t)
    for (int x = 0; x < dims[0]; ++x)
      for (int y = 0; y < dims[1]; ++y)
        for (int z = 0; z < dims[2]; ++z) {
          if ((t + x + y + z) % 2 == 0) continue;
          for (const int mu : {3, 0, 1, 2}) {
            const Dims here{x, y, z, t};
            Dims behind = here;
            int& at = behind[std::size_t(mu)];
            at = at == 0 ? dims[std::size_t(mu)] - 1 : at - 1;
            put_link(here, mu);
            put_link(behind, mu);
          }
        }
  return bytes;
}

inline std::string milc_bytes(const HostLinks& links, bool big) {
  const std::string data = link_bytes(links, 3, 32, big);
  std::uint32_t sum29 = 0, sum31 = 0;
  for (std::size_t k = 0; k < data.size() / 4; ++k) {
    const std::uint32_t word = word_at(data, 4 * k, big);
    sum29 ^= std::rotl(word, int(k % 29));
    sum31 ^= std::rotl(word, int(k % 31));
  }
  std::string bytes;
  put_word(bytes, 20103, 4, big);
  for (const int extent : links.dims) put_word(bytes, std::uint64_t(extent), 4, big);
  bytes += "Sun Nov 29 13:50:00 2026" + std::string(40, '\0');
  for (const std::uint32_t word : {std::uint32_t(0), sum29, sum31}) put_word(bytes, word, 4, big);
  return bytes + data;
}

}  // namespace quadrille::testing
