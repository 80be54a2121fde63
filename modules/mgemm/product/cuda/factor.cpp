#include "modules/mgemm/product/cuda/factor.h"

#include "core/backend/cuda/cuda_backend.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace quadrille::mgemm {
namespace {

cuda::Lines lines_of(DenseView<const double> matrix, Side side) {
  // Of the right factor columns are the lines: rows of its transpose.
  const DenseView<const double> turned = side == Side::left ? matrix : matrix.transposed();
  return {turned.data, turned.rows, turned.cols, turned.ld, turned.by_rows};
}

double from_bits(unsigned long long bits) { return std::bit_cast<double>(std::uint64_t(bits)); }

cuda::NarrowParts parts_of(SmallForm form) {
  switch (form) {
    case SmallForm::single: return cuda::NarrowParts::single;
    case SmallForm::half2: return cuda::NarrowParts::half2;
    case SmallForm::digits3: return cuda::NarrowParts::digits3;
    case SmallForm::digits4: return cuda::NarrowParts::digits4;
    case SmallForm::digits5: return cuda::NarrowParts::digits5;
    case SmallForm::digits6: return cuda::NarrowParts::digits6;
    case SmallForm::automatic: break;
  }
  throw Error(ErrorCode::internal, "no form of the small product was chosen");
}

template <class T>
cuda::DeviceArray<T> array(std::int64_t count, const char* what) {
  return {count, what, memory_advice};
}

/// Lines that may be read behind the last one of a range, as products of digits come in multiples of 16.
constexpr std::int64_t lines_behind = 16;

}  // namespace

DeviceFactor::DeviceFactor(DenseView<const double> matrix, Side side)
    : matrix_(matrix), lines_(lines_of(matrix, side)), side_(side) {}

void DeviceFactor::make_room_for_counts() {
  if (totals_there_.get() != nullptr) return;
  const char* what = "the analysis of a factor";
  const std::int64_t in_segments = cuda::segments_of(lines_) * lines_.count;
  in_segments_ = array<std::int32_t>(in_segments, what);
  square_parts_ = array<double>(in_segments, what);
  large_square_parts_ = array<double>(in_segments, what);
  in_lines_ = array<std::int32_t>(lines_.count, what);
  squares_ = array<double>(lines_.count, what);
  offsets_ = array<std::int64_t>(lines_.count + 1, what);
  totals_there_ = array<cuda::SplitTotals>(1, what);
}

cuda::LineCounts DeviceFactor::counts() const {
  return {in_segments_.get(), square_parts_.get(), large_square_parts_.get(), squares_.get(),
          in_lines_.get(),    offsets_.get(),      totals_there_.get()};
}

void DeviceFactor::analyse(double delta) {
  delta_ = delta;
  known_ = false;
  positions_.reset();
  values_.reset();
  make_room_for_counts();
  cuda::analyse_lines(lines_, delta, counts());
}

const cuda::SplitTotals& DeviceFactor::totals() {
  if (!known_) cuda_backend().copy_out(&totals_, totals_there_.get(), sizeof totals_);
  known_ = true;
  return totals_;
}

double DeviceFactor::max_abs() { return from_bits(totals().largest_bits); }

void DeviceFactor::check_finite(const char* name, Order order) {
  if (std::isfinite(max_abs())) return;
  const std::int64_t stored = lines_.contiguous ? lines_.length : lines_.count, place = std::int64_t(totals_.first_bad);
  const std::int64_t line = place / stored, within = place - line * stored;
  double value = 0;
  cuda_backend().copy_out(&value, lines_.data + line * lines_.ld + within, sizeof value);
  const bool by_rows = order == Order::rows;
  throw Error(ErrorCode::numerical,
              fmt::format("{}: the element in row {}, column {} (from 0) is {}; it must be finite", name,
                          by_rows ? line : within, by_rows ? within : line, std::isnan(value) ? "NaN" : "infinite"));
}

std::vector<MagnitudeSample> DeviceFactor::samples(std::initializer_list<const DeviceFactor*> factors) {
  const auto total = [](const DeviceFactor& f) { return f.lines_.count * f.lines_.length; };
  const auto count = [&](const DeviceFactor& f) { return total(f) / sample_step(total(f)); };
  std::int64_t all = 0;
  for (const DeviceFactor* f : factors) all += count(*f);
  const auto there = array<double>(all, "a sample of factors");
  std::int64_t begun = 0;
  for (const DeviceFactor* f : factors) {
    cuda::sample_magnitudes(f->lines_, sample_step(total(*f)), count(*f), there.get() + begun);
    begun += count(*f);
  }
  const std::vector<double> magnitudes = cuda::fetched(there.get(), all);
  std::vector<MagnitudeSample> samples;
  auto next = magnitudes.begin();
  for (const DeviceFactor* f : factors) {
    const auto first = std::exchange(next, next + count(*f));
    samples.emplace_back(std::vector<double>(first, next), f->lines_.count, f->lines_.length);
  }
  return samples;
}

void DeviceFactor::make_room_for_large() {
  const std::int64_t count = std::int64_t(totals().large);
  positions_ = array<std::int32_t>(count, "the list of large elements");
  values_ = array<double>(count, "the list of large elements");
}

void DeviceFactor::list_large() {
  make_room_for_large();
  if (totals().large > 0) {
    cuda::convert_lines(lines_, delta_, cuda::NarrowParts::none, {nullptr, padded(), false, 1}, counts(), list());
  }
}

FactorProfile DeviceFactor::profile(const std::vector<double>& deltas) {
  FactorProfile profile;
  profile.max_abs = max_abs();
  profile.deltas = deltas;
  const cuda::SplitTotals& t = totals();
  if (deltas.size() == 1) {
    profile.extremes = {{from_bits(t.small_square_bits), from_bits(t.all_square_bits), std::int64_t(t.large),
                         std::int64_t(t.most_large)}};
    return profile;
  }
  const auto there = cuda::sent(deltas, "a table of cutoffs", memory_advice);
  const auto extremes = array<cuda::CutoffExtremes>(std::int64_t(deltas.size()), "a table of cutoffs");
  cuda::tabulate_cutoffs(lines_.count, counts(), list(), there.get(), std::int64_t(deltas.size()), extremes.get());
  for (const cuda::CutoffExtremes& e : cuda::fetched(extremes.get(), extremes.count())) {
    profile.extremes.push_back({from_bits(e.small_square_bits), from_bits(e.all_square_bits), std::int64_t(e.large),
                                std::int64_t(e.most_large)});
  }
  return profile;
}

std::vector<FactorProfile> DeviceFactor::profiles(std::initializer_list<DeviceFactor*> factors,
                                                  std::vector<double> deltas) {
  for (DeviceFactor* f : factors) {
    if (std::int64_t(f->totals().large) > listed_of(f->lines() * f->length())) deltas.resize(1);
  }
  std::vector<FactorProfile> found;
  for (DeviceFactor* f : factors) {
    if (deltas.size() > 1) f->list_large();
  }
  for (DeviceFactor* f : factors) found.push_back(f->profile(deltas));
  return found;
}

std::int64_t DeviceFactor::bytes(std::int64_t lines, std::int64_t length, const FormTraits& form) {
  const std::int64_t segments = (length + cuda::segment_length - 1) / cuda::segment_length;
  return (lines + lines_behind) * form.parts * form.bytes * padded_length(length) + lines * (segments * 20 + 20) + 4096;
}

void DeviceFactor::convert(const FormTraits& form) {
  make_room_for_large();
  form_ = &form;
  unit_exponent_ = mgemm::unit_exponent(form, delta_, max_abs());
  parts_ =
      array<std::byte>((lines_.count + lines_behind) * form.parts * form.bytes * padded(), "the parts of a factor");
  // The right factor has its parts in the other order, so that one product of lines is a sum over r + s = const.
  const cuda::PartsPlace place{parts_.get(), padded(), side_ == Side::right, std::ldexp(1.0, -unit_exponent_)};
  cuda::convert_lines(lines_, delta_, parts_of(form.form), place, counts(), list());
}

const void* DeviceFactor::parts(std::int64_t line) const {
  return parts_.get() + line * form_->parts * form_->bytes * padded();
}

LargeLines DeviceFactor::large(std::int64_t first_line) const {
  return {offsets_.get() + first_line, list(), totals_.large > 0};
}

void SplitFactors::load(const DenseView<const double>* a, const DenseView<const double>* b) {
  if (a != nullptr) a_.reset();
  if (b != nullptr) b_.reset();
  // Both are queued before the first is waited for.
  if (a != nullptr) a_.emplace(*a, Side::left).analyse(delta_);
  if (b != nullptr) b_.emplace(*b, Side::right).analyse(delta_);
  if (a != nullptr) a_->convert(form_);
  if (b != nullptr) b_->convert(form_);
}

}  // namespace quadrille::mgemm
