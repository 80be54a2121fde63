// Gauge transformations on the CPU: threads share the blocks, and kernels.cpp does them.
#include "core/error.h"
#include "core/gauge/around/block_field.h"
#include "modules/gauge_fixing/turns/turn_work.h"

#include <array>
#include <cstdint>

namespace quadrille::gauge_fixing {

namespace {

const TurnKernels& kernels_for(const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  const TurnKernels* const kernels = QUADRILLE_OF_ISA(isa_of_links(desc), find_turns)(lanes);
  if (kernels == nullptr) {
    throw Error(ErrorCode::unsupported,
                "no kernel of gauge fixing for " + std::to_string(lanes) + " lanes in this build");
  }
  return *kernels;
}

class CpuTurns final : public TurnWork {
 public:
  explicit CpuTurns(const GaugeStore& links)
      : links_(links),
        g_(links.lattice(), links.backend()),
        isa_(isa_of_links(links_.desc())),
        kernels_(kernels_for(links_.desc())),
        blocks_(links.lattice().half_volume() / links_.desc().layout.lanes) {
    over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
      kernels_.start(begin, end, g_.numbers(parity));
    });
    g_.exchange();
  }

  std::string architecture() const override { return to_string(isa_); }
  Seen relax(const Relaxation& relaxation) override {
    double* const g = g_.numbers(relaxation.parity);
    const auto sums = sums_over_blocks<3>(blocks_, [&](std::int64_t begin, std::int64_t end, double* sum) {
      kernels_.relax(links_.blocks(), g_.blocks(), relaxation, begin, end, g, sum);
    });
    if (relaxation.omega != 0) g_.exchange(relaxation.parity);
    return {sums[0], sums[1], sums[2]};
  }
  std::unique_ptr<GaugeStore> transformed() override {
    Field to(links_.desc());
    over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
      kernels_.transform(links_.blocks(), g_.blocks(), parity, begin, end,
                         static_cast<double*>(to.numbers(Parity(parity))));
    });
    return std::make_unique<GaugeStore>(to);
  }

 private:
  BlockField links_, g_;
  Isa isa_;
  const TurnKernels& kernels_;
  std::int64_t blocks_;
};

}  // namespace

std::unique_ptr<TurnWork> make_turns_cpu(const GaugeStore& links) { return std::make_unique<CpuTurns>(links); }

}  // namespace quadrille::gauge_fixing
