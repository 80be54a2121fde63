// What a backend does with links in its own memory: forms of them, files, starts, sums.
//
// The work on a site or a line is in core/gauge/work/site_links.h, once for all backends;
// core/gauge/work/link_work_of.h calls it for every form and layout; a backend brings the loops (link_work_cpu.cpp,
// link_work_cuda.cu).
#pragma once

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "core/gauge/foreign_links.h"
#include "core/gauge/link_edges.h"
#include "core/gauge/link_view.h"
#include "core/gauge/max_loc.h"
#include "core/gauge/start.h"
#include "core/numbers/exact_sum.h"

#include <array>

namespace quadrille {

/// Calls that give nothing back may return before their work is done; it is done in the order of the calls. Views are
/// of fields of this backend on one lattice; `links` is in double or single precision with 18 or 12 numbers.
class LinkWork {
 public:
  virtual ~LinkWork() = default;

  /// Every link of `to` from the forward ones of `from`: of a `from` in double with 18 numbers any form, else double
  /// with 18 numbers. `g` (one link a site in double with 18 numbers, or null) transforms: site_links::GaugedLink;
  /// `edges` has it beyond the faces. Links of backward hops that lead to other ranks are left alone.
  virtual void copy(const LinkView& to, const LinkView& from, const LinkView* g, const LinkEdges& edges) const = 0;
  /// face[site of the face][18] = the links of direction mu that leave this rank, as copy() makes them; and the other
  /// way, those that enter, as links of backward hops. Faces are in memory of the backend.
  virtual void leaving(double* face, const LinkView& from, const LinkView* g, const LinkEdges& edges, int mu) const = 0;
  virtual void entering(const LinkView& to, const double* face, int mu) const = 0;
  /// face[site of the face][matrix][18] = the first `matrices` forward links at the first face at right angles to mu.
  virtual void first_face(double* face, const LinkView& links, int matrices, int mu) const = 0;
  /// The bodies of core/gauge/work/site_leaves.h; matrices are one link a site in double with 18 numbers.
  virtual void plaquettes(const LinkView& to, const LinkView& links, const LinkEdges& edges, int mu, int nu) const = 0;
  virtual void transported_face(double* face, const LinkView& matrices, const LinkView& links, int mu) const = 0;
  virtual void add_transported(const LinkView& to, const LinkView& from, const LinkView& links, const double* face,
                               int mu) const = 0;
  /// Sums over the sites of -tr(F F), -tr(G G) and -tr(F G) of the leaves of two planes.
  virtual std::array<double, 3> strength_sums(const LinkView& f, const LinkView& g) const = 0;
  /// Forward links of the sites [first, first + count), lexicographic, from and to the bytes that they have in a file,
  /// in memory of the backend: numbers of `bits` (32 or 64) bits. `to` is in double with 18 numbers.
  virtual void unpack(const LinkView& to, const void* bytes, int bits, std::int64_t first,
                      std::int64_t count) const = 0;
  virtual void pack(void* bytes, int bits, const LinkView& links, std::int64_t first, std::int64_t count) const = 0;
  /// Every link of `to`, in double with 18 numbers, from arrays in memory of the backend; gives what defects() would.
  virtual std::array<MaxLoc, 2> read(const LinkView& to, const ForeignLinks& from) const = 0;
  /// Forward links into such arrays.
  virtual void write(const ForeignLinks& to, const LinkView& links) const = 0;
  /// Forward links of a start; `to` is in double with 18 numbers.
  virtual void start(const LinkView& to, const GaugeStart& start, const Lattice& lattice) const = 0;

  /// Sums over the sites of Re tr P for the planes xy, xz, xt, yz, yt, zt, and of Re tr of all links: the same bits
  /// from every layout. `edges` has the four links of each site beyond a face, the whole lattice `all_sites` sites.
  virtual std::array<ExactSum, 7> plane_sums(const LinkView& links, const LinkEdges& edges,
                                             std::int64_t all_sites) const = 0;
  /// The largest |element| of U U^+ - 1 and the largest |det U - 1|, with the number of the link (site * 4 + mu).
  virtual std::array<MaxLoc, 2> defects(const LinkView& links) const = 0;
  /// Projects forward links in double with 18 numbers on SU(3). Gives the largest |change| of an element, and 1 with
  /// the number of the first link that cannot be projected (0 without one).
  virtual std::array<MaxLoc, 2> project(const LinkView& links) const = 0;
  /// The transformation to temporal gauge, into `g`; false when a time link is singular or not finite. `begins`,
  /// `lines` (in memory of the backend, or null): site_links::FixLine.
  virtual bool fix_time(const LinkView& g, const LinkView& links, bool begins, double* lines) const = 0;
};

/// ErrorCode::unsupported for a backend that has none.
const LinkWork& link_work(const Backend& backend);

QUADRILLE_DECLARE_FOR_BACKENDS(const LinkWork&, link_work, ())

}  // namespace quadrille
