// Stages and steps of smearing on the CPU: threads share the blocks, and kernels.cpp does them.
#include "core/error.h"
#include "core/gauge/around/block_field.h"
#include "modules/flow/steps/level_fields.h"
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

class CpuSteps final : public LinkSteps {
 public:
  explicit CpuSteps(const GaugeStore& links)
      : links_{{BlockField(links), BlockField(links)}},
        isa_(isa_of_links(desc())),
        kernels_(find_steps(desc())),
        blocks_(links.lattice().half_volume() / desc().layout.lanes) {}

  std::string architecture() const override { return to_string(isa_); }
  void run(const Stage& stage) override {
    if (!y_) y_.emplace(FieldDesc::of(algebra, field().lattice(), Subset::Full, Precision::Double, *desc().backend));
    if (stage.rectangle != 0) return run_with_rectangles(stage);
    make([&](const LinkBlocks& from, int parity, std::int64_t begin, std::int64_t end, double* to) {
      kernels_.stage(from, stage, parity, begin, end, to, static_cast<double*>(y_->numbers(Parity(parity))));
    });
  }
  void run(const Projection& projection) override {
    make([&](const LinkBlocks& from, int parity, std::int64_t begin, std::int64_t end, double* to) {
      kernels_.project(from, projection, parity, begin, end, to);
    });
  }
  void run(const HypStep& step) override {
    const BlockField& thin = links_[now_];
    over_hyp_levels(step, [&](const HypLevel& level, bool last) {
      const auto before = blocks_of(level.level - 1);
      BlockField& to = last ? links_[1 - now_] : levels_.to(level.level, level.excluded, field());
      over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
        kernels_.hyp(thin.blocks(), before.data(), level, parity, begin, end, to.numbers(parity));
      });
      to.exchange();
    });
    now_ = 1 - now_;
  }
  const Field& links() override { return links_[now_].field(); }

 private:
  void run_with_rectangles(const Stage& stage) {
    for (const int level : {staples_ahead, staples_behind}) {
      for (int nu = 0; nu < 4; ++nu) {
        BlockField& to = levels_.to(level, nu, field());
        over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
          kernels_.staples(links_[now_].blocks(), nu, level == staples_behind, parity, begin, end, to.numbers(parity));
        });
        to.exchange();
      }
    }
    const auto ahead = blocks_of(staples_ahead), behind = blocks_of(staples_behind);
    make([&](const LinkBlocks& from, int parity, std::int64_t begin, std::int64_t end, double* to) {
      kernels_.stage_with_rectangles(from, ahead.data(), behind.data(), stage, parity, begin, end, to,
                                     static_cast<double*>(y_->numbers(Parity(parity))));
    });
  }
  /// Of a level, 0: of the links as they are.
  std::array<const LinkBlocks*, 4> blocks_of(int level) const {
    std::array<const LinkBlocks*, 4> found{};
    const auto fields = levels_.of(level, links_[now_]);
    for (std::size_t k = 0; k < 4; ++k) found[k] = &fields[k]->blocks();
    return found;
  }
  const Field& field() const { return links_[0].field(); }
  const FieldDesc& desc() const { return field().desc(); }
  /// Calls step(links before, parity, begin, end, links after) for all blocks.
  template <class Step>
  void make(const Step& step) {
    const LinkBlocks& from = links_[now_].blocks();
    BlockField& next = links_[1 - now_];
    over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
      step(from, parity, begin, end, next.numbers(parity));
    });
    next.exchange();
    now_ = 1 - now_;
  }

  std::array<BlockField, 2> links_;
  std::size_t now_ = 0;
  Isa isa_;
  const StepKernels& kernels_;
  std::int64_t blocks_;
  std::optional<Field> y_;  ///< of stages
  LevelFields<BlockField> levels_;
};

}  // namespace

std::unique_ptr<LinkSteps> make_steps_cpu(const GaugeStore& links) { return std::make_unique<CpuSteps>(links); }

}  // namespace quadrille::flow
