// A factor of a split product on the device: what is known of it, its large elements, its parts.
#pragma once

#include "core/api.h"
#include "core/backend/cuda/device_array.h"
#include "modules/mgemm/choice/device_cost.h"
#include "modules/mgemm/choice/form_bound.h"
#include "modules/mgemm/choice/magnitude_sample.h"
#include "modules/mgemm/product/arguments.h"
#include "modules/mgemm/product/cuda/sparse.h"
#include "modules/shared/dense/cuda/magnitude_split.h"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <vector>

namespace quadrille::mgemm {

enum class Side { left, right };

/// op(A), whose rows are the lines, or op(B), whose columns are. The matrix stays somebody else's.
class QUADRILLE_API DeviceFactor {
 public:
  DeviceFactor(DenseView<const double> matrix, Side side);

  /// Asks for the analysis with this cutoff; totals() waits for it and knows what it found.
  void analyse(double delta);
  const cuda::SplitTotals& totals();
  double max_abs();
  /// Errors: ErrorCode::numerical, naming `name`, and row and column (from 0) as stored in `order`, of the first
  /// element that is not finite.
  void check_finite(const char* name, Order order);

  /// Of each factor about 2^12 magnitudes, at fixed places. Waits once.
  static std::vector<MagnitudeSample> samples(std::initializer_list<const DeviceFactor*> factors);
  /// For these cutoffs, the first of which is that of the analysis: waits; more than one cutoff needs list_large().
  FactorProfile profile(const std::vector<double>& deltas);
  void list_large();
  /// The same of several factors: where one has too many large elements for a list (listed_of), for the first cutoff
  /// alone.
  static std::vector<FactorProfile> profiles(std::initializer_list<DeviceFactor*> factors, std::vector<double> deltas);

  /// Parts of the small elements of the analysis's cutoff, and the list of the large ones.
  void convert(const FormTraits& form);

  std::int64_t lines() const { return lines_.count; }
  std::int64_t length() const { return lines_.length; }
  double delta() const { return delta_; }
  DenseView<const double> matrix() const { return matrix_; }
  const FormTraits& form() const { return *form_; }
  int unit_exponent() const { return unit_exponent_; }
  std::int64_t padded() const { return padded_length(lines_.length); }
  /// The parts of line `line`, which is followed by at least 15 more, whatever they hold.
  const void* parts(std::int64_t line) const;
  LargeLines large(std::int64_t first_line) const;
  std::int64_t large_elements() const { return std::int64_t(totals_.large); }

  /// Bytes that a factor of so many lines takes with its parts, without its large elements.
  static std::int64_t bytes(std::int64_t lines, std::int64_t length, const FormTraits& form);

 private:
  cuda::LineCounts counts() const;
  cuda::LargeList list() const { return {positions_.get(), values_.get()}; }
  void make_room_for_counts();
  void make_room_for_large();

  DenseView<const double> matrix_;
  cuda::Lines lines_;
  Side side_;
  double delta_ = 0;
  bool known_ = false;  ///< totals_ are those of the last analysis
  cuda::SplitTotals totals_{};
  const FormTraits* form_ = nullptr;
  int unit_exponent_ = 0;
  cuda::DeviceArray<std::int32_t> in_segments_, in_lines_;
  cuda::DeviceArray<double> square_parts_, large_square_parts_, squares_;
  cuda::DeviceArray<std::int64_t> offsets_;
  cuda::DeviceArray<cuda::SplitTotals> totals_there_;
  cuda::DeviceArray<std::int32_t> positions_;
  cuda::DeviceArray<double> values_;
  cuda::DeviceArray<std::byte> parts_;
};

/// The factors of split products on the device, in parts.
class QUADRILLE_API SplitFactors {
 public:
  SplitFactors(const FormTraits& form, double delta) : form_(form), delta_(delta) {}

  /// Takes other matrices, of finite elements; null: the factor before stays. What is replaced goes first, as its
  /// memory is needed. Waits for the analysis.
  void load(const DenseView<const double>* a, const DenseView<const double>* b);
  const DeviceFactor& a() const { return *a_; }
  const DeviceFactor& b() const { return *b_; }

 private:
  const FormTraits& form_;
  double delta_;
  std::optional<DeviceFactor> a_, b_;
};

constexpr const char* memory_advice = "use a smaller memory cap, or free memory of the device";

/// Lines [first, first + count) of a converted factor.
struct ConvertedRange {
  const DeviceFactor* factor;
  std::int64_t first, count;
};

/// C = beta C + alpha A B with sums of at most `depth` terms. C is on the device, by columns. Asks for it
/// (and waits while integer_product.h tunes).
QUADRILLE_API void multiply_converted(double alpha, const ConvertedRange& a, const ConvertedRange& b, double beta,
                                      DenseView<double> c, std::int64_t depth);

/// What that takes besides the factors.
QUADRILLE_API std::int64_t multiply_bytes(std::int64_t m, std::int64_t n, std::int64_t k);

}  // namespace quadrille::mgemm
