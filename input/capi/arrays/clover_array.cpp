#include "input/capi/arrays/arrays.h"
#include "input/capi/words.h"

namespace quadrille::capi {

CloverArray::CloverArray(const Parameters& words, const Lattice& lattice, const void* array, double kappa,
                         const Given& given)
    : words_(words, given), array_(array) {
  const Dims& dims = lattice.dims();
  layout_ = {.extents = {dims[0], dims[1], dims[2], dims[3], int(lattice.half_volume())},
             .bits = words_.bits(),
             .triangles = words.text("order") == "triangle",
             .order = site_order(words.text("sites")),
             .factor = words.text("normalization") == "kappa" ? 1 / (2 * kappa) : 1,
             .array = nullptr};
  bytes_ = std::size_t(lattice.volume()) * 2 * std::size_t(layout_.numbers()) * std::size_t(layout_.bits) / 8;
  ArrayWords::check_bytes(words, bytes_);
  words_.check(&array_, 1, "blocks");
}

void CloverArray::read_into(const DiracOperator& dirac) const {
  words_.wait();
  const Reached reached = words_.reached(array_, bytes_, Reached::Copy::in);
  ForeignBlocks from = layout_;
  from.array = reached.get();
  dirac.take_site_matrices(from);
}

}  // namespace quadrille::capi
