// Stages on the CPU: threads share the blocks, and kernels.cpp does them.
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

StageKernel find_stage(const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  const StageKernel kernel = QUADRILLE_OF_ISA(isa_of_links(desc), find_stage)(lanes);
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported,
                "no kernel of the gradient flow for " + std::to_string(lanes) + " lanes in this build");
  }
  return kernel;
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
        kernel_(find_stage(desc())),
        blocks_(links.lattice().half_volume() / desc().layout.lanes),
        y_(FieldDesc::of(algebra, links.lattice(), Subset::Full, Precision::Double, links.backend())) {}

  std::string architecture() const override { return to_string(isa_); }
  void run(const Stage& stage) override {
    const LinkBlocks& from = links_[now_].tables->blocks();
    Links& next = links_[1 - now_];
    for (const Parity p : {Parity::Even, Parity::Odd}) {
      double* const to = static_cast<double*>(next.field.numbers(p));
      double* const y = static_cast<double*>(y_.numbers(p));
      team_ranges(blocks_,
                  [&](std::int64_t begin, std::int64_t end) { kernel_(from, stage, int(p), begin, end, to, y); });
    }
    if (next.halo) next.halo->exchange_all();
    now_ = 1 - now_;
  }
  const Field& links() override { return links_[now_].field; }

 private:
  const FieldDesc& desc() const { return links_[0].field.desc(); }

  std::array<Links, 2> links_;
  std::size_t now_ = 0;
  Isa isa_;
  StageKernel kernel_;
  std::int64_t blocks_;
  Field y_;
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cpu(const GaugeStore& links) { return std::make_unique<CpuSteps>(links); }

}  // namespace quadrille::flow
