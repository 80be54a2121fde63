// The hopping term on one parity: gathers what a generated kernel needs and runs it over the threads.
#pragma once

#include "core/field.h"
#include "core/kernel_log.h"
#include "core/operator.h"
#include "dirac/gauge_source.h"
#include "dirac/kernel_table.h"

#include <array>
#include <memory>
#include <string>
#include <vector>

namespace quadrille {

/// Boundary conditions and anisotropy: scalars that all reconstructions share.
struct HopScalars {
  /// theta/pi for x, y, z, t: exp(i theta) multiplies the forward link that leaves the last slice.
  std::array<double, 4> boundary{};
  /// Factor of the spatial hops: nu / xi0.
  double spatial = 1;
};

/// D of codegen/operators, from links stored in one form. In temporal gauge the links are those of
/// GaugeSource::temporal_gauge(), and so are the spinors that apply() sees.
class Dslash {
 public:
  /// ErrorCode::unsupported when there is no kernel of this form, or when the lattice is split over ranks.
  Dslash(std::string op, std::shared_ptr<const GaugeSource> gauge, const HopScalars& scalars, const OperatorForm& form,
         Backend& backend);

  const FieldDesc& field_desc() const { return spinor_; }
  const OperatorForm& form() const { return form_; }
  const HopScalars& scalars() const { return scalars_; }
  const std::shared_ptr<const GaugeSource>& gauge() const { return gauge_; }
  /// The stored links, with directions hops::spatial and hops::time: all that a site multiplies by lies together, so
  /// that a kernel reads one stream (two, where it reads time links), at the price of storing each link twice.
  const Field& spatial_links() const { return spatial_links_; }
  const Field& time_links() const { return time_links_; }
  const dirac::KernelInfo& kernel() const { return *kernel_; }
  /// Compulsory bytes a site: the links loaded, one spinor read and one written, one more with the xpay term.
  double bytes_per_site(bool xpay) const;

  /// y = b D x, or y = b D x + a z. y and x hold one parity each, the opposite ones; y is overwritten and may be z.
  void apply(Field& y, const Field& x, Dagger dagger, double b) const { run(y, x, dagger, b, 0, nullptr); }
  void apply(Field& y, const Field& x, Dagger dagger, double b, double a, const Field& z) const {
    run(y, x, dagger, b, a, &z);
  }

 private:
  void run(Field& y, const Field& x, Dagger dagger, double b, double a, const Field* z) const;
  void import_both();
  template <class Real, class Int>
  void make_crossings();

  std::string op_;
  std::shared_ptr<const GaugeSource> gauge_;
  HopScalars scalars_;
  OperatorForm form_;
  FieldDesc spinor_;
  Field spatial_links_, time_links_;
  const dirac::KernelInfo* kernel_;
  const VectorLayout* layout_;
  std::array<std::vector<std::uint8_t>, 2> crossings_;       ///< by parity of the result: DslashArgs::wraps
  std::array<std::shared_ptr<void>, 8> rotations_, phases_;  ///< aligned to 64 bytes
  KernelRecord* records_[2];                                 ///< without and with the xpay term
};

}  // namespace quadrille
