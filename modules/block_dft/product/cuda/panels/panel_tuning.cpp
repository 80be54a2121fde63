// Which variant of the panel kernel is the fastest for a kind of problem.
#include "core/tuning/tuning.h"
#include "modules/block_dft/product/cuda/panels/panel_kernel.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>

#include <bit>

namespace quadrille::block_dft {
namespace {

/// Below this, measuring takes longer than it could save; a choice that is forced counts anyway.
constexpr double least_flops = 1e10;

std::string name_of(const PanelVariant& variant) {
  return fmt::format("{} tiles, {} waves", variant.all_tiles ? "all" : "needed", variant.waves ? "in" : "no");
}

/// Problems of one kind: pieces of the same sizes, and about as many steps in a task.
std::string kind_of(const PanelProblem& p, bool waves) {
  const auto steps = std::uint64_t(p.tasks.full.step.count() / std::max<std::int64_t>(1, p.tasks.count));
  const auto side = [](const Pieces& pieces) {
    return fmt::format("{}{}", pieces.largest, pieces.alike ? "" : "_mixed");
  };
  return fmt::format("block_panels {} {}x{}x{} {}{}", p.most, side(p.rows), side(p.inner), side(p.columns),
                     std::bit_ceil(steps + 1), waves ? " waves" : "");
}

}  // namespace

PanelVariant tuned_variant(PanelProblem problem) {
  const bool waves = outgrows_cache(problem);
  const PanelVariant variants[] = {{false, waves}, {true, waves}, {false, !waves}, {true, !waves}};
  const bool forced = tuning_settings().mode == TuningSettings::Mode::Force;
  if (problem.tasks.sums.flops < least_flops && !forced) return variants[0];
  std::vector<std::string> names;
  for (const PanelVariant& variant : variants) names.push_back(name_of(variant));
  const TuningKey key{cuda_backend().device(), QUADRILLE_VERSION, kind_of(problem, waves)};
  const int chosen = tuner().choose(key, names, [&](int which) {
    problem.variant = variants[which];
    return seconds_of([&] {
      multiply_full(problem);
      cuda_backend().synchronize();
    });
  });
  return variants[chosen];
}

}  // namespace quadrille::block_dft
