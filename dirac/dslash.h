// The hopping term on one parity: the links in one form and the generated kernel that works on them.
#pragma once

#include "core/api.h"
#include "core/field/field.h"
#include "core/gauge/gauge_store.h"
#include "core/operator/operator.h"
#include "core/tuning/kernel_log.h"
#include "dirac/hop_kernel.h"

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace quadrille {

/// D of codegen/operators, from links stored in one form. In temporal gauge the links are those of
/// GaugeStore::temporal_gauge(), and so are the spinors that apply() sees.
class QUADRILLE_API Dslash {
 public:
  /// On the backend of the links. ErrorCode::unsupported when there is no kernel of this form. Collective, as apply()
  /// is.
  Dslash(const std::string& op, std::shared_ptr<const GaugeStore> gauge, const HopScalars& scalars,
         const OperatorForm& form);

  const FieldDesc& field_desc() const { return spinor_; }
  const OperatorForm& form() const { return form_; }
  const HopScalars& scalars() const { return scalars_; }
  const std::shared_ptr<const GaugeStore>& gauge() const { return gauge_; }
  /// The links that the kernel reads.
  const LinkFields& links() const { return *links_; }
  const HopKernel& kernel() const { return *kernel_; }
  /// "wilson_half_12", and what it was compiled for.
  std::string kernel_name() const { return kernel_->name(); }
  std::string kernel_resources(std::size_t calls = 1) const { return kernel_->resources(calls); }
  std::string architecture() const { return kernel_->architecture(); }
  /// Compulsory bytes per site of a call in a list of `calls`: one spinor read and one written, one more with z, and
  /// its part of what the calls share, links and fields of chiral blocks.
  double bytes_per_site(bool z, int block_fields = 0, std::size_t calls = 1) const;
  /// What chiral blocks for this hop are: both parities.
  FieldDesc blocks_desc() const;

  /// y = L D x, or y = L D x + R z. y and x hold one parity each, the opposite ones; y is overwritten and may be z.
  void apply(Field& y, const Field& x, Dagger dagger, const SiteTerm& l) const {
    apply_each(only({&y, &x}), dagger, l);
  }
  void apply(Field& y, const Field& x, Dagger dagger, const SiteTerm& l, const SiteTerm& r, const Field& z) const {
    apply_each(only({&y, &x, &z}), dagger, l, r);
  }
  /// The same for every call of a list, all with z or all without, on the same parity; each link is loaded once for
  /// several of them. The bits of each are those of a call alone. A field that is written appears once, but that y may
  /// be z of the same call (ErrorCode::internal otherwise).
  void apply_each(OperandList list, Dagger dagger, const SiteTerm& l, const SiteTerm& r = {}) const;
  /// y = R z on one parity; y is overwritten and may be z. Of a list: x is not used.
  void apply_local(Field& y, const SiteTerm& r, const Field& z) const { apply_local_each(only({&y, nullptr, &z}), r); }
  void apply_local_each(OperandList list, const SiteTerm& r) const;

 private:
  /// Throws unless the fields of a call fit.
  void check(const HopCall& call) const;
  KernelRecord& record(const HopCall& call) const;

  std::shared_ptr<const GaugeStore> gauge_;
  HopScalars scalars_;
  OperatorForm form_;
  FieldDesc spinor_;
  std::shared_ptr<const LinkFields> links_;
  std::unique_ptr<HopKernel> kernel_;
  KernelLog& log_;  ///< of the thread that made it
  /// By the length of the list, then without and with z, then fields of blocks; null: not used yet.
  mutable std::vector<std::array<std::array<KernelRecord*, 3>, 2>> records_;
  KernelRecord* local_;
};

}  // namespace quadrille
