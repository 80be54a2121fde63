// What loops ask of a backend: lines of links and the rectangles between them, from every site of a lattice at once.
#pragma once

#include "core/backend/of_backend.h"
#include "core/gauge/gauge_store.h"

#include <array>
#include <memory>
#include <string>

namespace quadrille::loops {

/// Lines and edges from every site x, on the backend of the links. Directions are 0..3. Over several ranks calls are
/// collective, and sums are of this rank.
///
///   line  L(x) = U_mu(x) U_mu(x + mu) ...: from x to x + r mu
///   side  S(x) = U_nu(x + r mu)
///   edge  B(x) = [t links in nu from x] L(x + t nu) [t links in nu from x + r mu]^+
class LineWork {
 public:
  virtual ~LineWork() = default;

  /// What its kernels are compiled for: "avx2", "sm_90".
  virtual std::string architecture() const = 0;
  /// Lines of one link in direction mu, without sides.
  virtual void begin(int mu) = 0;
  /// Lines of one link in direction mu with sides in direction nu, as yet without edges.
  virtual void begin(int mu, int nu) = 0;
  /// Lines, and their sides, longer by a link; edges are as they were before the first lift().
  virtual void extend() = 0;
  /// Raises the edges by a link; the first time they begin with the lines. Gives the sum over the sites of
  /// Re tr(B L^+): of loops.
  virtual double lift() = 0;
  /// The sum over the sites of tr L: re, im.
  virtual std::array<double, 2> trace() = 0;
};

/// On a copy of `links`.
QUADRILLE_DECLARE_FOR_BACKENDS(std::unique_ptr<LineWork>, make_lines, (const GaugeStore& links))

/// The same on the backend of the links.
inline std::unique_ptr<LineWork> make_line_work(const GaugeStore& links) {
  return QUADRILLE_OF_BACKEND(links.backend().name(), make_lines)(links);
}

}  // namespace quadrille::loops
