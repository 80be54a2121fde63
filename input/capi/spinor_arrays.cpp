#include "core/error.h"
#include "core/field/host_image.h"
#include "core/field/site_access.h"
#include "core/field/spin_basis.h"
#include "core/system/team.h"
#include "input/capi/arrays.h"

#include <fmt/format.h>

#include <algorithm>

namespace quadrille::capi {

namespace {

constexpr int spinor_reals = 24;

SpinBasis basis_of(const std::string& name) {
  if (name == "ukqcd") return SpinBasis::ukqcd;
  return name == "openqcd" ? SpinBasis::openqcd : SpinBasis::degrand_rossi;
}

Subset subset_of(const std::string& name) {
  if (name == "full") return Subset::Full;
  return name == "even" ? Subset::Even : Subset::Odd;
}

void to_inside(Complex* inside, const Complex* given, SpinBasis basis) {
  Complex degrand_rossi[12];
  switch (basis) {
    case SpinBasis::ukqcd: std::copy_n(given, 12, inside); return;
    case SpinBasis::degrand_rossi: return spin_basis::from_degrand_rossi(inside, given, 3);
    case SpinBasis::openqcd:
      spin_basis::exchange_openqcd(degrand_rossi, given, 3);
      return spin_basis::from_degrand_rossi(inside, degrand_rossi, 3);
  }
}

void from_inside(Complex* wanted, const Complex* inside, SpinBasis basis) {
  Complex degrand_rossi[12];
  switch (basis) {
    case SpinBasis::ukqcd: std::copy_n(inside, 12, wanted); return;
    case SpinBasis::degrand_rossi: return spin_basis::to_degrand_rossi(wanted, inside, 3);
    case SpinBasis::openqcd:
      spin_basis::to_degrand_rossi(degrand_rossi, inside, 3);
      return spin_basis::exchange_openqcd(wanted, degrand_rossi, 3);
  }
}

/// Where component 3 * spin + colour stands among the host's twelve.
constexpr int component(int c, bool color_spin) { return color_spin ? c % 3 * 4 + c / 3 : c; }

}  // namespace

SpinorArrays::SpinorArrays(const Parameters& words, const Lattice& lattice)
    : lattice_(lattice),
      subset_(subset_of(words.text("subset"))),
      even_odd_(subset_ != Subset::Full || words.text("sites") == "even_odd"),
      color_spin_(words.text("order") == "color_spin"),
      single_(words.text("precision") == "single"),
      basis_(basis_of(words.text("basis"))) {
  if (!words.has("bytes") || std::size_t(words.integer("bytes")) == bytes()) return;
  throw Error(ErrorCode::invalid_input,
              fmt::format("'bytes': each array must have {} bytes, not {}", bytes(), words.integer("bytes")),
              words.where("bytes"));
}

std::size_t SpinorArrays::bytes() const {
  const std::int64_t sites = subset_ == Subset::Full ? lattice_.volume() : lattice_.half_volume();
  return std::size_t(sites) * spinor_reals * alignment();
}

std::int64_t SpinorArrays::place(Parity p, std::int64_t site) const {
  if (!even_odd_) return lattice_.site(lattice_.coordinates(p, site));
  return site + (subset_ == Subset::Full && p == Parity::Odd ? lattice_.half_volume() : 0);
}

template <class Real>
void SpinorArrays::read_sites(Field& image, const Real* array) const {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (!image.holds(p)) continue;
    const SiteAccess<double> to(image, p);
    team_for(lattice_.half_volume(), [&](std::int64_t site) {
      const Real* const numbers = array + place(p, site) * spinor_reals;
      Complex given[12], inside[12];
      for (int c = 0; c < 12; ++c) {
        const Real* const number = numbers + 2 * component(c, color_spin_);
        given[c] = Complex(number[0], number[1]);
      }
      to_inside(inside, given, basis_);
      double reals[spinor_reals];
      for (int c = 0; c < 12; ++c) {
        reals[2 * c] = inside[c].real();
        reals[2 * c + 1] = inside[c].imag();
      }
      to.store(site, reals);
    });
  }
}

template <class Real>
void SpinorArrays::write_sites(const Field& image, Real* array) const {
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (!image.holds(p)) continue;
    const SiteAccess<double> from(image, p);
    team_for(lattice_.half_volume(), [&](std::int64_t site) {
      Real* const numbers = array + place(p, site) * spinor_reals;
      double reals[spinor_reals];
      from.load(site, reals);
      Complex inside[12], wanted[12];
      for (int c = 0; c < 12; ++c) inside[c] = Complex(reals[2 * c], reals[2 * c + 1]);
      from_inside(wanted, inside, basis_);
      for (int c = 0; c < 12; ++c) {
        Real* const number = numbers + 2 * component(c, color_spin_);
        number[0] = Real(wanted[c].real());
        number[1] = Real(wanted[c].imag());
      }
    });
  }
}

void SpinorArrays::read_into(Field& field, const void* array) const {
  HostImage image = HostImage::fresh(field);
  if (single_) {
    read_sites(image.field(), static_cast<const float*>(array));
  } else {
    read_sites(image.field(), static_cast<const double*>(array));
  }
  image.write_back();
}

void SpinorArrays::write_from(const Field& field, void* array) const {
  HostImage image(field);
  if (single_) {
    write_sites(image.field(), static_cast<float*>(array));
  } else {
    write_sites(image.field(), static_cast<double*>(array));
  }
}

}  // namespace quadrille::capi
