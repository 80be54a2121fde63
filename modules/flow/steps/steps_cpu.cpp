// Stages and steps of smearing on the CPU: threads share the blocks, and kernels.cpp does them.
#include "core/error.h"
#include "core/gauge/around/link_block_tables.h"
#include "core/system/team.h"
#include "modules/flow/steps/link_steps.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace quadrille::flow {

namespace {

/// Four elements of the algebra a site (algebra.h).
constexpr SiteFormat algebra{"algebra", 4, 8, false};

const StepKernels& find_steps(const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  const StepKernels* const kernels = QUADRILLE_OF_ISA(isa_of_links(desc), find_steps)(lanes);
  if (kernels == nullptr) {
    throw Error(ErrorCode::unsupported,
                "no kernel of the gradient flow for " + std::to_string(lanes) + " lanes in this build");
  }
  return *kernels;
}

/// Links that a stage reads or writes, with those of other ranks. They stay where they are: the rest refers to them.
struct Links {
  Field field;
  std::optional<HaloExchange> halo;  ///< of several ranks
  std::optional<LinkBlockTables> tables;

  explicit Links(const GaugeStore& from)
      : field(FieldDesc::links(from.lattice(), Precision::Double, Reconstruct::R18, from.backend())) {
    from.copy_to(field);
    if (from.lattice().communicator().size() > 1) halo.emplace(field, staple_halo());
    tables.emplace(field, halo ? &*halo : nullptr);
  }
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
};

class CpuSteps final : public LinkSteps {
 public:
  explicit CpuSteps(const GaugeStore& links)
      : links_{{Links(links), Links(links)}},
        isa_(isa_of_links(desc())),
        kernels_(find_steps(desc())),
        blocks_(links.lattice().half_volume() / desc().layout.lanes) {}

  std::string architecture() const override { return to_string(isa_); }
  void run(const Stage& stage) override {
    if (!y_) y_.emplace(FieldDesc::of(algebra, field().lattice(), Subset::Full, Precision::Double, *desc().backend));
    over_blocks([&](const LinkBlocks& from, Parity p, std::int64_t begin, std::int64_t end, double* to) {
      kernels_.stage(from, stage, int(p), begin, end, to, static_cast<double*>(y_->numbers(p)));
    });
  }
  void run(const Projection& projection) override {
    over_blocks([&](const LinkBlocks& from, Parity p, std::int64_t begin, std::int64_t end, double* to) {
      kernels_.project(from, projection, int(p), begin, end, to);
    });
  }
  const Field& links() override { return links_[now_].field; }

 private:
  const Field& field() const { return links_[0].field; }
  const FieldDesc& desc() const { return field().desc(); }
  /// Calls make(links before, parity, begin, end, links after) for all blocks.
  template <class Make>
  void over_blocks(const Make& make) {
    const LinkBlocks& from = links_[now_].tables->blocks();
    Links& next = links_[1 - now_];
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      double* const to = static_cast<double*>(next.field.numbers(p));
      team_ranges(blocks_, [&](std::int64_t begin, std::int64_t end) { make(from, p, begin, end, to); });
    }
    if (next.halo) next.halo->exchange_all();
    now_ = 1 - now_;
  }

  std::array<Links, 2> links_;
  std::size_t now_ = 0;
  Isa isa_;
  const StepKernels& kernels_;
  std::int64_t blocks_;
  std::optional<Field> y_;  ///< of stages
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cpu(const GaugeStore& links) { return std::make_unique<CpuSteps>(links); }

}  // namespace quadrille::flow
