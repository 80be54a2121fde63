// What a backend does with chiral blocks in its own memory: the bodies of dirac/clover/site_blocks.h.
#pragma once

#include "core/backend/of_backend.h"
#include "core/field/field.h"
#include "core/gauge/max_loc.h"

#include <array>

namespace quadrille {

struct ForeignBlocks;

/// Fields are of site_formats::chiral_blocks on both parities, in double but for the target of copy(). Calls that give
/// nothing back may return before their work is done; it is done in the order of the calls.
class BlockWork {
 public:
  virtual ~BlockWork() = default;

  /// blocks = number.
  virtual void set(Field& blocks, double number) const = 0;
  /// blocks = those of an array that the backend reaches. Gives the largest |B - B^+| / |B|, and the lexicographic
  /// index of its site.
  virtual MaxLoc read(Field& blocks, const ForeignBlocks& from) const = 0;
  /// Blocks of chirality + and - += coefficient[0] and [1] s_k (x) i F, with F of the leaves of a plane (CloverLeaves).
  virtual void add_plane(Field& blocks, const Field& leaves, int k, std::array<double, 2> coefficient) const = 0;
  /// blocks = number exp(blocks / number).
  virtual void exponentiate(Field& blocks, double number) const = 0;
  /// (from + i mu gamma_5)^-1 = to - i gamma_5 twisted, where mu is not 0; else to = from^-1, and `twisted` may be
  /// null. Gives the largest |element| over the smallest pivot of a site, and the lexicographic index of that site.
  virtual MaxLoc invert(Field& to, Field* twisted, const Field& from, double mu) const = 0;
  /// Sums of log |det (blocks + i mu gamma_5)| over the sites of each parity of this rank, coarse and fine part, for
  /// `all_sites` sites of the whole lattice: core/numbers/exact_sum.h.
  virtual std::array<double, 4> log_det(const Field& blocks, double mu, double all_sites) const = 0;
  /// to = g from g^+, with one matrix a site in double with 18 numbers.
  virtual void rotate(Field& to, const Field& from, const Field& g) const = 0;
  /// to = from in any precision.
  virtual void copy(Field& to, const Field& from) const = 0;
};

QUADRILLE_DECLARE_FOR_BACKENDS(const BlockWork&, block_work, ())
const BlockWork& block_work(const Backend& backend);

}  // namespace quadrille
