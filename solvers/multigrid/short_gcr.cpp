#include "solvers/multigrid/short_gcr.h"

#include "core/backend/of_backend.h"
#include "core/blas/blas.h"
#include "core/error.h"
#include "solvers/multigrid/cuda/device_multigrid.h"

#include <algorithm>
#include <cmath>

namespace quadrille::multigrid {

std::unique_ptr<InnerSolver> make_inner_solver(const LinearOperator& a, const LinearOperator* k, int directions,
                                               double tolerance) {
  const FieldDesc& desc = a.field_desc();
  if (desc.backend->host_memory() || desc.layout.grouped()) {
    return std::make_unique<ShortGcr>(a, k, directions, tolerance);
  }
  return with_cuda<std::unique_ptr<InnerSolver>>([&](auto) { return make_device_gcr(a, k, directions, tolerance); });
}

void InnerSolver::apply_each(OperandList list, Dagger dagger) const {
  if (dagger == Dagger::Yes) throw Error(ErrorCode::internal, "an inner solve of multigrid has no dagger");
  solve_each(list);
}

double ShortGcr::contraction_of(const Solve& solve) {
  if (solve.first2 == 0) return 0;
  const double found = solve.steps > 0 ? std::pow(solve.r2 / solve.first2, 0.5 / solve.steps) : 1;
  return std::isfinite(found) ? found : 1;
}

bool ShortGcr::step(Solve& solve, Field& y, std::size_t k) const {
  Field &p = solve.p[k], &q = solve.q[k];
  std::vector<blas::Complex> taken(k);
  blas::dots(std::span(solve.q.pointers()).first(k), q, taken.data());
  for (std::size_t j = 0; j < k; ++j) taken[j] /= -solve.q2[j];
  blas::caxpys(taken, std::span(solve.q.pointers()).first(k), q);
  blas::caxpys(taken, std::span(solve.p.pointers()).first(k), p);
  const blas::DotNorm2 sums = blas::dot_norm2(q, solve.r);
  if (!(sums.norm2 > 0) || !std::isfinite(sums.norm2) || !std::isfinite(std::abs(sums.dot))) return false;
  solve.q2[k] = sums.norm2;
  const blas::Complex alpha = sums.dot / sums.norm2;
  blas::caxpy(alpha, p, y);
  solve.r2 = blas::caxpy_norm2(-alpha, q, solve.r);
  ++solve.steps;
  return std::isfinite(solve.r2) && solve.r2 > tolerance_ * tolerance_ * solve.first2;
}

void ShortGcr::solve_each(OperandList list) const {
  while (solves_.size() < list.size()) solves_.emplace_back(a_.field_desc(), std::size_t(directions_));
  std::vector<std::size_t> going;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Solve& solve = solves_[i];
    blas::zero(*list[i].y);
    blas::copy(solve.r, *list[i].x);
    solve.first2 = solve.r2 = blas::norm2(solve.r);
    solve.steps = 0;
    if (solve.r2 > 0 && std::isfinite(solve.r2)) going.push_back(i);
  }
  for (std::size_t k = 0; k < std::size_t(directions_) && !going.empty(); ++k) {
    OwnedOperands directions(going.size()), images(going.size());
    for (std::size_t n = 0; n < going.size(); ++n) {
      Solve& solve = solves_[going[n]];
      directions[n] = {&solve.p[k], &solve.r};
      images[n] = {&solve.q[k], &solve.p[k]};
      if (k_ == nullptr) blas::copy(solve.p[k], solve.r);
    }
    if (k_ != nullptr) k_->apply_each(directions, Dagger::No);
    a_.apply_each(images, Dagger::No);
    std::erase_if(going, [&](std::size_t i) { return !step(solves_[i], *list[i].y, k); });
  }
  contraction_ = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const Solve& solve = solves_[i];
    count_directions(solve.steps, 1);
    contraction_ = std::max(contraction_, contraction_of(solve));
  }
}

}  // namespace quadrille::multigrid
