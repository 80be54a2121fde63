// Lines on the CPU: threads share the blocks, and kernels.cpp does them.
#include "core/error.h"
#include "core/gauge/around/block_field.h"
#include "modules/loops/lines/kernels.h"
#include "modules/loops/lines/turns.h"

#include <cstdint>

namespace quadrille::loops {

namespace {

const LineKernels& kernels_for(const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  const LineKernels* const kernels = QUADRILLE_OF_ISA(isa_of_links(desc), find_lines)(lanes);
  if (kernels == nullptr) {
    throw Error(ErrorCode::unsupported,
                "no kernel of lines of links for " + std::to_string(lanes) + " lanes in this build");
  }
  return *kernels;
}

class CpuLines final : public LineTurns<BlockField> {
 public:
  explicit CpuLines(const GaugeStore& links)
      : LineTurns(links),
        links_(links),
        isa_(isa_of_links(links_.desc())),
        kernels_(kernels_for(links_.desc())),
        blocks_(links.lattice().half_volume() / links_.desc().layout.lanes) {}

  std::string architecture() const override { return to_string(isa_); }

 private:
  void copy(int mu, BlockField& to) override {
    everywhere(to, [&](const BlockRange& range, double* out) { kernels_.copy(links_.blocks(), mu, range, out); });
  }
  void copy_ahead(int mu, int nu, BlockField& to) override {
    everywhere(to,
               [&](const BlockRange& range, double* out) { kernels_.copy_ahead(links_.blocks(), mu, nu, range, out); });
  }
  void shift(const BlockField& from, int mu, BlockField& to) override {
    everywhere(to, [&](const BlockRange& range, double* out) { kernels_.shift(from.blocks(), mu, range, out); });
  }
  void extend(const BlockField& line, int mu, BlockField& to) override {
    everywhere(to, [&](const BlockRange& range, double* out) {
      kernels_.extend(links_.blocks(), line.blocks(), mu, range, out);
    });
  }
  double lift(const BlockField& edge, const BlockField& side, const BlockField& line, int nu, BlockField& to) override {
    return sums<1>([&](const BlockRange& range, double* sum) {
      kernels_.lift(links_.blocks(), edge.blocks(), side.blocks(), line.blocks(), nu, range, to.numbers(range.parity),
                    sum);
    })[0];
  }
  std::array<double, 2> trace_of(const BlockField& line) override {
    return sums<2>([&](const BlockRange& range, double* sum) { kernels_.trace(line.blocks(), range, sum); });
  }

  template <class Work>
  void everywhere(BlockField& to, const Work& work) const {
    over_blocks(blocks_, [&](int parity, std::int64_t begin, std::int64_t end) {
      work(BlockRange{parity, begin, end}, to.numbers(parity));
    });
  }
  template <std::size_t N, class Work>
  std::array<double, N> sums(const Work& work) const {
    std::array<double, N> both{};
    for (const int parity : {0, 1}) {
      const auto found = sums_over_blocks<N>(blocks_, [&](std::int64_t begin, std::int64_t end, double* sum) {
        work(BlockRange{parity, begin, end}, sum);
      });
      for (std::size_t n = 0; n < N; ++n) both[n] += found[n];
    }
    return both;
  }

  BlockField links_;
  Isa isa_;
  const LineKernels& kernels_;
  std::int64_t blocks_;
};

}  // namespace

std::unique_ptr<LineWork> make_lines_cpu(const GaugeStore& links) { return std::make_unique<CpuLines>(links); }

}  // namespace quadrille::loops
