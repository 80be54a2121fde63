#include "modules/mgemm/choice/device_choice.h"

#include "core/error.h"
#include "modules/mgemm/choice/form_bound.h"

#include <vector>

namespace quadrille::mgemm {
namespace {

class Device final : public Multiplier {
 public:
  Device(const AnalysedProduct& product, const Cutoff& cutoff, const MgemmOptions& options)
      : product_(product), cutoff_(cutoff), options_(options) {}

  std::vector<std::vector<SmallWay>> ways() const override {
    std::vector<std::vector<SmallWay>> all;
    for (const FormTraits& form : all_forms()) {
      if (options_.small_form != SmallForm::automatic && options_.small_form != form.form) continue;
      for (const std::int64_t depth : depths(form)) all.push_back({{&form, depth_of_order(form, depth, 0)}});
    }
    return all;
  }

  ErrorBound bound(const SmallWay& way, std::size_t cutoff) const override {
    return form_error_bound(product_, cutoff, *way.form, way.depth);
  }

  double plain() const override { return options_.device_cost.plain(product_.shape); }
  double split(const SmallWay& way, const LargeCounts& large) const override {
    return options_.device_cost.split(product_.shape, large, *way.form, way.depth);
  }
  double analysis() const override { return options_.device_cost.analysis(product_.shape); }

 private:
  std::vector<std::int64_t> depths(const FormTraits& form) const {
    if (options_.depth > 0) return {options_.depth};
    const bool any_error = !cutoff_.automatic && options_.small_form != SmallForm::automatic;
    if (form.integer || any_error) return {usual_depth(form)};
    return {2048, 1024, 512, 256, 128, 64};
  }

  const AnalysedProduct& product_;
  const Cutoff& cutoff_;
  const MgemmOptions& options_;
};

}  // namespace

MgemmReport choose_on_device(const AnalysedProduct& product, Known known, const Cutoff& cutoff,
                             const MgemmOptions& options) {
  Device device(product, cutoff, options);
  return choose(device, product, known, cutoff, options);
}

void require_no_sample(const Cutoff& cutoff) {
  if (!cutoff.automatic || cutoff.assurance != Assurance::measured) return;
  throw Error(
      ErrorCode::unsupported,
      "'assurance: measured' needs a sample of the product, which a GPU does not take; use certain or probable");
}

}  // namespace quadrille::mgemm
