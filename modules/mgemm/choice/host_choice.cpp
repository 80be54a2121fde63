#include "modules/mgemm/choice/host_choice.h"

#include "modules/mgemm/choice/sampled_error.h"
#include "modules/shared/dense/magnitude_split.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace quadrille::mgemm {
namespace {

/// The CPU: small elements in single precision, in sums as long as the target lets them be.
class Host final : public Multiplier {
 public:
  Host(const Operands<double>& operands, const AnalysedProduct& product, const MgemmOptions& options)
      : operands_(operands), product_(product), options_(options) {}

  std::vector<std::vector<SmallWay>> ways() const override {
    const FormTraits& single = traits_of(SmallForm::single);
    if (options_.depth > 0) return {{{&single, options_.depth}}};
    return {{{&single, 2048}, {&single, 1024}, {&single, 512}, {&single, 256}, {&single, 128}}};
  }

  ErrorBound bound(const SmallWay& way, std::size_t cutoff) const override {
    return error_bound(product_, cutoff, way.depth);
  }

  double measured(const SmallWay& way, std::size_t cutoff, const ErrorBound& bound) override {
    if (!sample_) sample_.emplace(operands_.a, operands_.b, product_.a.small_squares, product_.b.small_squares);
    return sample_->relative(product_.a.deltas[cutoff], way.depth) * bound.small_norms + bound.in_double;
  }

  double plain() const override { return options_.cost.plain(product_.shape); }
  double split(const SmallWay& way, const LargeCounts& large) const override {
    return options_.cost.split(product_.shape, large, way.depth);
  }

 private:
  const Operands<double>& operands_;
  const AnalysedProduct& product_;
  const MgemmOptions& options_;
  std::optional<SampledError> sample_;
};

}  // namespace

AnalysedProduct analyse_on_host(const Operands<double>& o, const LargestMagnitudes& most, const Cutoff& cutoff) {
  const auto quantile = [](const DenseView<const double>& x) { return sampled_quantile(x, cutoff_quantile); };
  const std::vector<double> deltas =
      cutoffs_of(cutoff, cutoff.automatic ? std::max(quantile(o.a), quantile(o.b)) : 0, std::max(most.a, most.b));
  AnalysedProduct product{{o.m(), o.n(), o.k()},
                          profile_on_host(o.a, most.a, deltas),
                          profile_on_host(o.b.transposed(), most.b, deltas),
                          o.swapped};
  const std::size_t common = std::min(product.a.deltas.size(), product.b.deltas.size());
  product.a.deltas.resize(common);
  product.b.deltas.resize(common);
  return product;
}

MgemmReport choose_on_host(const Operands<double>& operands, const LargestMagnitudes& most, const Cutoff& cutoff,
                           const MgemmOptions& options) {
  const ProductShape shape{operands.m(), operands.n(), operands.k()};
  MgemmReport report;
  if (const std::string reason = too_small(shape, options.cost.smallest_product, options); !reason.empty()) {
    report_double(reason, double_error_bound(shape.k, most.a, most.b), report);
    return report;
  }
  MgemmOptions here = options;
  here.small_form = SmallForm::single;  // the only one: a given cutoff has to do with it
  const AnalysedProduct product = analyse_on_host(operands, most, cutoff);
  Host host(operands, product, here);
  return choose(host, product, Known::analysed, cutoff, here);
}

}  // namespace quadrille::mgemm
