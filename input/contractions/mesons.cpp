#include "input/contractions/mesons.h"

#include "core/error.h"
#include "core/simd/isa.h"
#include "input/contractions/meson_kernels.h"

#include <array>
#include <map>

namespace quadrille {

namespace {

/// C = sum_{cb} (gamma5 A)_{c a(c)} (B gamma5)_{b d(b)} T[a(c), b, c, d(b)]: the color sums T that some channel needs,
/// each once, and the terms of each channel.
struct MesonPlan {
  std::vector<ColorSum> sums;
  std::vector<MesonTerm> terms;

  explicit MesonPlan(const std::vector<MesonChannel>& channels) {
    std::map<std::array<int, 4>, int> known;
    for (const MesonChannel& channel : channels) {
      const Gamma left = gamma5() * channel.sink, right = channel.source * gamma5();
      for (int c = 0; c < 4; ++c) {
        for (int b = 0; b < 4; ++b) {
          const int a = left.column[std::size_t(c)], d = right.column[std::size_t(b)];
          const auto [place, fresh] = known.try_emplace({a, b, c, d}, int(sums.size()));
          if (fresh) sums.push_back({a, b, c, d});
          terms.push_back({place->second, (left.power[std::size_t(c)] + right.power[std::size_t(b)]) % 4});
        }
      }
    }
  }
};

MesonKernel meson_kernel_for(int lanes) {
  const MesonKernel kernel = QUADRILLE_OF_ISA(isa_of_lanes(lanes, Precision::Double), meson_kernel)(lanes);
  if (kernel == nullptr)
    throw Error(ErrorCode::internal, "no meson kernel works on " + std::to_string(lanes) + " lanes");
  return kernel;
}

}  // namespace

SpaceSums meson_correlators(const ReadablePropagator& quark, const ReadablePropagator& antiquark,
                            const std::vector<MesonChannel>& channels, const std::vector<Momentum>& momenta,
                            const Dims& x0) {
  require_same(quark.desc(), antiquark.desc(), "quark and antiquark");
  const int lanes = quark.desc().layout.lanes;
  const MesonPlan plan(channels);
  const MesonKernel kernel = meson_kernel_for(lanes);
  const PropagatorBlocks s = quark.blocks(), r = antiquark.blocks();
  const MesonProblem problem{&s, &*quark == &*antiquark ? &s : &r, plan.sums.data(), int(plan.sums.size()),
                             plan.terms.data()};
  return sum_over_space(quark.desc(), momenta, x0, int(channels.size()),
                        std::size_t(meson_scratch(lanes, problem.sum_count)),
                        [&](const Plane& plane, double* scratch) { kernel(problem, plane, scratch); });
}

int norm_sign(const Gamma& gamma) {
  const Gamma gt = gamma_named("gt");
  return gt * adjoint(gamma) * gt == gamma ? -1 : 1;
}

bool real_at_rest(const MesonChannel& channel) {
  return reversal_sign(channel.sink) * reversal_sign(channel.source) == 1;
}

}  // namespace quadrille
