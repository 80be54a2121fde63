#include "core/field/convert.h"

#include "core/error.h"
#include "core/field/host_image.h"
#include "core/field/propagator_sites.h"
#include "core/field/site_access.h"
#include "core/field/site_transfer.h"
#include "core/field/spin_basis.h"
#include "core/field/spinor_work.h"
#include "core/su3/link_codec.h"
#include "core/system/team.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace quadrille {
namespace {

/// Calls f(even-odd index) for every site of one parity, over the threads.
template <class F>
void for_each_site(const Field& field, F&& f) {
  const Lattice& lattice = field.lattice();
  team_for(lattice.half_volume(), f);
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
    throw Error(ErrorCode::internal, "the host array and the field have different extents");
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

/// Calls f with the number types of the destination and the source.
template <class F>
void with_number_types(const Field& dst, const Field& src, F&& f) {
  with_number_type(dst.desc().precision,
                   [&](auto to) { with_number_type(src.desc().precision, [&](auto from) { f(to, from); }); });
}

void require_convertible(const FieldDesc& d, const FieldDesc& s) {
  require_site_numbers(d);
  if (d.site != s.site || d.holds_links() || d.lattice != s.lattice || d.subset != s.subset) {
    throw Error(ErrorCode::internal, fmt::format("conversion of {} to {} on another lattice or subset, of another "
                                                 "format, or of links (core/gauge/gauge_store.h makes forms of those)",
                                                 s.site.name, d.site.name));
  }
}

/// dst = src for fields of the same numbers, on the host, bit by bit.
void copy_sites(Field& dst, const Field& src) {
  with_number_type(dst.desc().precision, [&](auto number) {
    for_each_parity(dst, [&](Parity p) {
      if (dst.desc().layout == src.desc().layout) {
        std::memcpy(dst.numbers(p), src.numbers(p), dst.desc().parity_bytes());
        return;
      }
      const SiteAccess<decltype(number)> to(dst, p), from(src, p);
      for_each_site(dst, [&](std::int64_t site) { to.copy(site, from); });
    });
  });
}

}  // namespace

namespace host {

void convert(Field& dst, const Field& src) {
  if (dst.desc().precision == src.desc().precision) return copy_sites(dst, src);
  with_number_types(dst, src, [&](auto to, auto from) {
    using To = SiteAccess<decltype(to)>;
    using From = SiteAccess<decltype(from)>;
    const int count = dst.desc().components();
    for_each_parity(dst, [&](Parity p) {
      if (dst.desc().site == site_formats::spinor) {
        return for_each_site(dst, ConvertSite<To, From>{To(dst, p), From(src, p)});
      }
      const To into(dst, p);
      const From out_of(src, p);
      for_each_site(dst, [&](std::int64_t site) {
        typename From::Real in[most_site_numbers];
        typename To::Real out[most_site_numbers];
        out_of.load(site, in);
        std::transform(in, in + count, out, [](auto number) { return typename To::Real(number); });
        into.store(site, out);
      });
    });
  });
}

void rotate(Field& dst, const Field& src, const Field& g, bool adjoint) {
  with_number_types(dst, src, [&](auto to, auto from) {
    using To = SiteAccess<decltype(to)>;
    using From = SiteAccess<decltype(from)>;
    using Matrices = SiteAccess<double>;
    for_each_parity(dst, [&](Parity p) {
      for_each_site(dst, RotateSite<To, From, Matrices>{To(dst, p), From(src, p), Matrices(g, p), adjoint});
    });
  });
}

void put_site(Field& dst, Parity p, std::int64_t site, const double* numbers) {
  with_number_type(dst.desc().precision, [&](auto number) {
    using To = SiteAccess<decltype(number)>;
    PutSite<To> put{To(dst, p), site, {}};
    std::copy_n(numbers, spinor_numbers, put.numbers);
    put(0);
  });
}

void read_spinors(Field& dst, const ForeignSpinors& src) {
  for_each_parity(dst, [&](Parity p) {
    using To = SiteAccess<double>;
    if (src.bits == 64) return for_each_site(dst, ReadSpinor<To, double>{To(dst, p), src, int(p)});
    for_each_site(dst, ReadSpinor<To, float>{To(dst, p), src, int(p)});
  });
}

void write_spinors(const ForeignSpinors& dst, const Field& src) {
  for_each_parity(src, [&](Parity p) {
    using From = SiteAccess<double>;
    if (dst.bits == 64) return for_each_site(src, WriteSpinor<From, double>{From(src, p), dst, int(p)});
    for_each_site(src, WriteSpinor<From, float>{From(src, p), dst, int(p)});
  });
}

}  // namespace host

void convert(Field& dst, const Field& src) {
  require_convertible(dst.desc(), src.desc());
  if (dst.desc().backend == src.desc().backend) {
    spinor_work(*dst.desc().backend).convert(dst, src);
  } else {  // by way of the host
    HostImage to = HostImage::fresh(dst), from(src);
    host::convert(to.field(), from.field());
    to.write_back();
  }
}

void import_spinor(Field& field, const HostSpinor& src) {
  require_dims(field, src.dims);
  HostImage image = HostImage::fresh(field);
  Field& dst = image.field();
  with_number_type(dst.desc().precision, [&](auto number) {
    for_each_parity(dst, [&](Parity p) {
      const SiteAccess<decltype(number)> to(dst, p);
      for_each_site(dst, [&](std::int64_t site) {
        Complex rotated[spinor_components];
        spin_basis::from_degrand_rossi(rotated,
                                       src.data.data() + lexicographic(dst.lattice(), p, site) * spinor_components, 3);
        typename SiteAccess<decltype(number)>::Real out[spinor_numbers];
        for (int c = 0; c < spinor_numbers; ++c) {
          out[c] =
              typename SiteAccess<decltype(number)>::Real(c % 2 == 0 ? rotated[c / 2].real() : rotated[c / 2].imag());
        }
        to.store(site, out);
      });
    });
  });
  image.write_back();
}

void export_spinor(HostSpinor& dst, const Field& field) {
  require_dims(field, dst.dims);
  HostImage image(field);
  const Field& src = image.field();
  with_number_type(src.desc().precision, [&](auto number) {
    for_each_parity(src, [&](Parity p) {
      const SiteAccess<decltype(number)> from(src, p);
      for_each_site(src, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real in[spinor_numbers];
        from.load(site, in);
        Complex inside[spinor_components];
        for (int c = 0; c < spinor_components; ++c) inside[c] = Complex(in[2 * c], in[2 * c + 1]);
        spin_basis::to_degrand_rossi(dst.data.data() + lexicographic(src.lattice(), p, site) * spinor_components,
                                     inside, 3);
      });
    });
  });
}

void put_spinor(Field& dst, const Dims& x, const std::array<Complex, spinor_components>& numbers) {
  Complex inside[spinor_components];
  spin_basis::from_degrand_rossi(inside, numbers.data(), 3);
  double reals[spinor_numbers];
  for (int c = 0; c < spinor_numbers; ++c) reals[c] = c % 2 == 0 ? inside[c / 2].real() : inside[c / 2].imag();
  const Parity p = Parity(Lattice::parity(x));
  spinor_work(*dst.desc().backend).put_site(dst, p, dst.lattice().even_odd_index(x), reals);
}

void import_links(Field& field, const HostLinks& src) {
  require_dims(field, src.dims);
  HostImage image = HostImage::fresh(field);
  Field& dst = image.field();
  with_number_type(dst.desc().precision, [&](auto number) {
    for_each_parity(dst, [&](Parity p) {
      const SiteAccess<decltype(number)> to(dst, p);
      for_each_site(dst, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real out[most_site_numbers];
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
  image.write_back();
}

void export_links(HostLinks& dst, const Field& field) {
  require_dims(field, dst.dims);
  HostImage image(field);
  const Field& src = image.field();
  with_number_type(src.desc().precision, [&](auto number) {
    for_each_parity(src, [&](Parity p) {
      const SiteAccess<decltype(number)> from(src, p);
      for_each_site(src, [&](std::int64_t site) {
        typename SiteAccess<decltype(number)>::Real in[most_site_numbers];
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
