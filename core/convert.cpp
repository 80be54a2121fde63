#include "core/convert.h"

#include "core/error.h"
#include "core/gauge/link_codec.h"
#include "core/site_access.h"
#include "core/spin_basis.h"

#include <bit>
#include <cstring>

namespace quadrille {
namespace {

constexpr int spinor_numbers = 24;
constexpr int most_numbers = 8 * 18;  // a site of links for all hops

/// Calls f(even-odd index) for every site of one parity, over the threads.
template <class F>
void for_each_site(const Field& field, F&& f) {
  const Lattice& lattice = field.lattice();
#pragma omp parallel for schedule(static)
  for (std::int64_t site = 0; site < lattice.half_volume(); ++site) f(site);
}

std::int64_t lexicographic(const Lattice& lattice, Parity p, std::int64_t site) {
  return lattice.site(lattice.coordinates(p, site));
}

/// Where the link of one of the `hops` begins: at the site itself going forward, at its neighbour going backward.
std::int64_t origin_of_link(const Lattice& lattice, Parity p, std::int64_t site, int hop) {
  Dims x = lattice.coordinates(p, site);
  if (hop % 2 == 1) {
    int& coordinate = x[hop / 2];
    const int extent = lattice.dims()[hop / 2];
    coordinate = (coordinate + extent - 1) % extent;
  }
  return lattice.site(x);
}

template <class F>
void for_each_parity(const Field& field, F&& f) {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (field.holds(p)) f(p);
  }
}

void require_dims(const Field& field, const Dims& dims) {
  if (field.lattice().dims() != dims)
    throw Error(ErrorCode::internal, "a host array of other extents than the field's");
}

/// A link's stored numbers as a matrix, decoded in the arithmetic of Real, and back.
template <class Real>
Matrix3 decode(Reconstruct reconstruct, const Real* numbers) {
  if (reconstruct == Reconstruct::R12) return link_codec::decode_12(numbers);
  if (reconstruct == Reconstruct::R8) return link_codec::decode_8(numbers);
  Matrix3 u;
  for (std::size_t i = 0; i < 9; ++i) u.e[i] = Complex(numbers[2 * i], numbers[2 * i + 1]);
  return u;
}

template <class Real>
void encode(Reconstruct reconstruct, const Matrix3& u, Real* numbers) {
  if (reconstruct == Reconstruct::R12) return link_codec::encode_12(u, numbers);
  if (reconstruct == Reconstruct::R8) return link_codec::encode_8(u, numbers);
  for (std::size_t i = 0; i < 9; ++i) {
    numbers[2 * i] = Real(u.e[i].real());
    numbers[2 * i + 1] = Real(u.e[i].imag());
  }
}

template <class To, class From>
void convert_sites(Field& dst, const Field& src) {
  for_each_parity(dst, [&](Parity p) {
    const SiteAccess<To> to(dst, p);
    const SiteAccess<From> from(src, p);
    const bool same_numbers = src.desc().kind == FieldKind::Spinor || src.desc().reconstruct == dst.desc().reconstruct;
    const int components = dst.desc().components();
    if constexpr (std::is_same_v<To, From>) {
      if (same_numbers) {
        for_each_site(dst, [&](std::int64_t site) { to.copy(site, from); });
        return;
      }
    }
    for_each_site(dst, [&](std::int64_t site) {
      typename SiteAccess<From>::Real in[most_numbers];
      typename SiteAccess<To>::Real out[most_numbers];
      from.load(site, in);
      if (same_numbers) {
        for (int c = 0; c < components; ++c) out[c] = typename SiteAccess<To>::Real(in[c]);
      } else {
        for (int k = 0; k < std::popcount(unsigned(dst.desc().directions)); ++k) {
          const Matrix3 u = decode(src.desc().reconstruct, in + k * int(src.desc().reconstruct));
          encode(dst.desc().reconstruct, u, out + k * int(dst.desc().reconstruct));
        }
      }
      to.store(site, out);
    });
  });
}

void convert_any(Field& dst, const Field& src, FieldKind kind) {
  const FieldDesc &d = dst.desc(), &s = src.desc();
  if (d.kind != kind || s.kind != kind || d.lattice != s.lattice || d.subset != s.subset || d.nrhs != s.nrhs ||
      d.directions != s.directions) {
    throw Error(ErrorCode::internal, "conversion between fields of different kinds, lattices, subsets or directions");
  }
  if (d == s) {
    for_each_parity(dst, [&](Parity p) { std::memcpy(dst.numbers(p), src.numbers(p), d.parity_bytes()); });
    return;
  }
  with_number_type(d.precision, [&](auto to) {
    with_number_type(s.precision, [&](auto from) { convert_sites<decltype(to), decltype(from)>(dst, src); });
  });
}

}  // namespace

void convert(Field& dst, const Field& src) { convert_any(dst, src, FieldKind::Spinor); }

void convert_links(Field& dst, const Field& src) { convert_any(dst, src, FieldKind::Links); }

void import_spinor(Field& dst, const HostSpinor& src) {
  require_dims(dst, src.dims);
  with_number_type(dst.desc().precision, [&](auto number) {
    for_each_parity(dst, [&](Parity p) {
      const SiteAccess<decltype(number)> to(dst, p);
      for_each_site(dst, [&](std::int64_t site) {
        Complex rotated[12];
        spin_basis::from_degrand_rossi(rotated, src.data.data() + lexicographic(dst.lattice(), p, site) * 12, 3);
        typename SiteAccess<decltype(number)>::Real out[spinor_numbers];
        for (int c = 0; c < spinor_numbers; ++c) {
          out[c] =
              typename SiteAccess<decltype(number)>::Real(c % 2 == 0 ? rotated[c / 2].real() : rotated[c / 2].imag());
        }
        to.store(site, out);
      });
    });
  });
}

void export_spinor(HostSpinor& dst, const Field& src) {
  require_dims(src, dst.dims);
  with_number_type(src.desc().precision, [&](auto number) {
    for_each_parity(src, [&](Parity p) {
      const SiteAccess<decltype(number)> from(src, p);
      for_each_site(src, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real in[spinor_numbers];
        from.load(site, in);
        Complex inside[12];
        for (int c = 0; c < 12; ++c) inside[c] = Complex(in[2 * c], in[2 * c + 1]);
        spin_basis::to_degrand_rossi(dst.data.data() + lexicographic(src.lattice(), p, site) * 12, inside, 3);
      });
    });
  });
}

void import_links(Field& dst, const HostLinks& src) {
  require_dims(dst, src.dims);
  with_number_type(dst.desc().precision, [&](auto number) {
    for_each_parity(dst, [&](Parity p) {
      const SiteAccess<decltype(number)> to(dst, p);
      for_each_site(dst, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real out[most_numbers];
        auto* numbers = out;
        for (int hop = 0; hop < 8; ++hop) {
          if (!(dst.desc().directions >> hop & 1)) continue;
          const Matrix3 u = Matrix3::read(src.link(origin_of_link(dst.lattice(), p, site, hop), hop / 2));
          encode(dst.desc().reconstruct, u, numbers);
          numbers += int(dst.desc().reconstruct);
        }
        to.store(site, out);
      });
    });
  });
}

void export_links(HostLinks& dst, const Field& src) {
  require_dims(src, dst.dims);
  with_number_type(src.desc().precision, [&](auto number) {
    for_each_parity(src, [&](Parity p) {
      const SiteAccess<decltype(number)> from(src, p);
      for_each_site(src, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real in[most_numbers];
        from.load(site, in);
        const auto* numbers = in;
        for (int hop = 0; hop < 8; ++hop) {
          if (!(src.desc().directions >> hop & 1)) continue;
          const bool forward = hop % 2 == 0;  // the backward ones are other sites' forward ones
          if (forward) {
            decode(src.desc().reconstruct, numbers).write(dst.link(lexicographic(src.lattice(), p, site), hop / 2));
          }
          numbers += int(src.desc().reconstruct);
        }
      });
    });
  });
}

}  // namespace quadrille
