// Links that ranks need of each other: those beyond the faces of a rank's part, those that cross them, and lines in t
// from rank to rank. On one rank nothing moves.
#pragma once

#include "core/gauge/link_edges.h"
#include "core/gauge/link_view.h"
#include "core/layout/lattice.h"

#include <cstddef>
#include <memory>
#include <vector>

namespace quadrille {

class Backend;

/// Members are collective. What they are given is of this lattice and backend.
class FaceExchange {
 public:
  FaceExchange(const Lattice& lattice, Backend& backend);
  FaceExchange(const FaceExchange&) = delete;
  FaceExchange& operator=(const FaceExchange&) = delete;
  ~FaceExchange();

  /// Edges with the first `matrices` forward links of each site beyond the last faces; as long as this lives.
  LinkEdges beyond(const LinkView& links, int matrices);
  /// Every link of `to` from the forward ones of `from`, as LinkWork::copy(), those of backward hops included that
  /// enter from other ranks.
  void copy(const LinkView& to, const LinkView& from, const LinkView* g);
  /// to(x) = from(x) + U_mu(x-mu)^+ from(x-mu) U_mu(x-mu): fields of one matrix a site, which differ.
  void add_transported(const LinkView& to, const LinkView& from, const LinkView& links, int mu);
  /// LinkWork::fix_time() along the whole of t. False on every rank when it is on one.
  bool fix_time(const LinkView& g, const LinkView& links);

 private:
  /// Memory of the backend that lives as long as this.
  double* allocate(std::size_t numbers);
  /// Sends `numbers` numbers at `mine` to the neighbour in `direction` and puts what comes to `theirs`; both are memory
  /// of the backend.
  void exchange(int direction, const double* mine, double* theirs, std::size_t numbers);
  std::size_t face_numbers(int mu) const;

  const Lattice& lattice_;
  Backend& backend_;
  LinkEdges edges_{};
  struct Memory;
  std::vector<std::unique_ptr<Memory>> memory_;
};

}  // namespace quadrille
