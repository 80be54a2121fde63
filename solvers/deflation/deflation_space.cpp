#include "solvers/deflation/deflation_space.h"

#include "core/blas/blas.h"
#include "core/comm/communicator.h"
#include "core/field/convert.h"
#include "core/system/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

namespace quadrille {

namespace {

/// Of |A u|: what is left of it outside of the space, below which u adds rounding more than a direction.
constexpr double too_little = 1e-2;

/// Before any memory is taken: a host gives out more than it has, and then ends the process.
void require_room(const LinearOperator& outer, const LinearOperator& iterating, const DeflationSettings& settings) {
  const std::size_t kept = kept_as(outer.field_desc(), kept_in(iterating)).bytes();
  const double needed = double(kept) * (2.0 * settings.vectors + settings.window + 2 * settings.modes);
  const Backend& backend = *outer.field_desc().backend;
  const Communicator& ranks = outer.field_desc().lattice->communicator();
  const double free = backend.host_memory() ? memory_here().free / ranks.size() : double(backend.available_bytes());
  if (needed <= free) return;
  throw NotEnoughMemory(fmt::format(
      "not enough memory: a deflation space of {} vectors, with the gradients in which they are found, needs "
      "{}, {} are free; give `deflation` fewer `vectors`",
      settings.vectors, bytes_text(needed), bytes_text(free)));
}

}  // namespace

DeflationSpace::DeflationSpace(const LinearOperator& outer, const LinearOperator& iterating,
                               const DeflationSettings& settings)
    : outer_((require_room(outer, iterating, settings), &outer)),
      iterating_(&iterating),
      u_(kept_as(outer.field_desc(), kept_in(iterating)), std::size_t(settings.vectors)),
      w_(kept_as(outer.field_desc(), kept_in(iterating)), std::size_t(settings.vectors)),
      work_(kept_as(outer.field_desc(), kept_in(iterating))),
      mode_(iterating.field_desc()),
      original_(outer.field_desc()),
      image_(outer.field_desc()),
      coefficients_(std::size_t(settings.vectors)) {
  modes_.emplace(iterating, settings.window, settings.modes);
}

void DeflationSpace::serve(const LinearOperator& outer, const LinearOperator& iterating) {
  require_same(outer.field_desc(), original_.desc(), "fields of a deflation space and of the operator");
  require_same(iterating.field_desc(), mode_.desc(), "fields of a deflation space and of the operator that iterates");
  outer_ = &outer;
  iterating_ = &iterating;
}

std::vector<const Field*> DeflationSpace::first(const Workspace& fields) const {
  return {fields.pointers().begin(), fields.pointers().begin() + size_};
}

void DeflationSpace::solve(Field& d, const Field& r) {
  convert(work_, r);
  blas::dots(first(w_), work_, coefficients_.data());
  blas::zero(work_);
  blas::caxpys(std::span(coefficients_).first(std::size_t(size_)), first(u_), work_);
  convert(d, work_);
}

void DeflationSpace::add(const Field& u) {
  if (full()) return;
  outer_->apply(image_, u, Dagger::No);
  Field &kept_u = u_[std::size_t(size_)], &kept_w = w_[std::size_t(size_)];
  convert(kept_u, u);
  convert(kept_w, image_);
  const double before = std::sqrt(blas::norm2(kept_w));
  // Twice, as the method of Gram and Schmidt needs where little is left.
  for (int pass = 0; pass < 2 && size_ > 0; ++pass) {
    const auto minus = std::span(coefficients_).first(std::size_t(size_));
    blas::dots(first(w_), kept_w, minus.data());
    for (std::complex<double>& c : minus) c = -c;
    blas::caxpys(minus, first(w_), kept_w);
    blas::caxpys(minus, first(u_), kept_u);
  }
  const double left = std::sqrt(blas::norm2(kept_w));
  if (!std::isfinite(left) || !(left > too_little * before)) return;
  blas::scale(1 / left, kept_w);
  blas::scale(1 / left, kept_u);
  ++size_;
}

std::unique_ptr<DeflationShare> DeflationShare::of(DeflationSpace* space) {
  if (space == nullptr || space->full() || space->taken_) return nullptr;
  return std::unique_ptr<DeflationShare>(new DeflationShare(*space));
}

DeflationShare::~DeflationShare() {
  space_.taken_ = false;
  if (space_.full()) space_.modes_.reset();
}

void DeflationShare::add_modes() {
  modes().for_each(space_.mode_, [this] {
    space_.iterating_->leave(space_.original_, space_.mode_);
    space_.add(space_.original_);
  });
}

}  // namespace quadrille
