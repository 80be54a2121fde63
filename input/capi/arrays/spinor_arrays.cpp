#include "core/error.h"
#include "core/field/spinor_work.h"
#include "input/capi/arrays/arrays.h"
#include "input/capi/words.h"

#include <fmt/format.h>

namespace quadrille::capi {

namespace {

constexpr std::size_t spinor_reals = 24;

SpinBasis basis_of(const std::string& name) {
  if (name == "ukqcd") return SpinBasis::ukqcd;
  return name == "openqcd" ? SpinBasis::openqcd : SpinBasis::degrand_rossi;
}

Subset subset_of(const std::string& name) {
  if (name == "full") return Subset::Full;
  return name == "even" ? Subset::Even : Subset::Odd;
}

}  // namespace

SpinorArrays::SpinorArrays(const Parameters& words, const Lattice& lattice, const Points& points, double kappa,
                           const Given& given)
    : words_(words, given), lattice_(lattice), subset_(subset_of(words.text("subset"))) {
  const Dims& dims = lattice.dims();
  const std::string& sites = words.text("sites");
  layout_.extents = {dims[0], dims[1], dims[2], dims[3], int(lattice.half_volume())};
  layout_.bits = words_.bits();
  layout_.one_parity = subset_ != Subset::Full;
  layout_.color_spin = words.text("order") == "color_spin";
  if (layout_.one_parity && sites != "openqcd" && words.given("sites")) {
    throw Error(ErrorCode::invalid_input,
                "'sites' is for full arrays; in an array of one parity the sites are in the order of their own index",
                words.where("sites"));
  }
  layout_.basis = basis_of(words.text("basis"));
  if (sites == "openqcd") {
    if (!points) {
      throw Error(ErrorCode::invalid_input,
                  "'sites: openqcd' needs a gauge field whose links came with `order: openqcd` and its ipt",
                  words.where("sites"));
    }
    points_ = points;
    layout_.points = reinterpret_cast<const std::int32_t*>(points->get());
  } else {
    layout_.order = site_order(sites);
  }
  if (words.text("normalization") == "kappa") unit_ = 2 * kappa;
  ArrayWords::check_bytes(words, bytes());
}

std::size_t SpinorArrays::bytes() const {
  const std::int64_t sites = subset_ == Subset::Full ? lattice_.volume() : lattice_.half_volume();
  return std::size_t(sites) * spinor_reals * std::size_t(words_.bits()) / 8;
}

void SpinorArrays::read_into(Field& field, const void* array, double factor) const {
  const Reached reached = words_.reached(array, bytes(), Reached::Copy::in);
  ForeignSpinors from = layout_;
  from.array = reached.get();
  from.factor = factor;
  spinor_work(words_.backend()).read(field, from);
}

void SpinorArrays::write_from(const Field& field, void* array, double factor) const {
  const Reached reached = words_.reached(array, bytes(), Reached::Copy::none);
  ForeignSpinors to = layout_;
  to.array = reached.get();
  to.factor = factor;
  spinor_work(words_.backend()).write(to, field);
  words_.backend().synchronize();
  reached.copy_out();
}

}  // namespace quadrille::capi
