// Pair forces on the GPU: what is fixed is sent once, coefficients with every new scale, positions with every pass.
#include "core/backend/cuda/stream_clock.h"
#include "core/error.h"
#include "core/tuning/tuning.h"
#include "modules/md/pairs/cuda/arrays.h"
#include "modules/md/pairs/cuda/kernels.h"
#include "modules/md/pairs/pair_engine.h"
#include "modules/md/pairs/rank_shares.h"

#include <fmt/format.h>

#include <bit>
#include <optional>
#include <string>

namespace quadrille::md {
namespace {

/// The tables of one precision on the device.
template <class T>
class DeviceTables {
 public:
  void send(const PairTables<T>& from, bool rescaled) {
    x_ = sent(from.x);
    y_ = sent(from.y);
    z_ = sent(from.z);
    if (!rescaled && charge_.get() != nullptr) return;
    charge_ = sent(from.charge);
    force12_ = sent(from.of_types.force12);
    force6_ = sent(from.of_types.force6);
    energy12_ = sent(from.of_types.energy12);
    energy6_ = sent(from.of_types.energy6);
    listed_ = sent(from.listed);
  }

  void point(PairProblem<T>& problem) const {
    problem.x = x_.get();
    problem.y = y_.get();
    problem.z = z_.get();
    problem.charge = charge_.get();
    problem.force12 = force12_.get();
    problem.force6 = force6_.get();
    problem.energy12 = energy12_.get();
    problem.energy6 = energy6_.get();
    problem.listed = listed_.get();
  }

 private:
  cuda::DeviceArray<T> x_, y_, z_, charge_, force12_, force6_, energy12_, energy6_;
  cuda::DeviceArray<ListedPair<T>> listed_;
};

class CudaEngine final : public PairEngine {
 public:
  CudaEngine(const PairOrder& order, const ListedPairs& pairs, const Communicator* ranks)
      : order_(order),
        pairs_(pairs),
        shares_(ranks, cuda_backend()),
        chunk_type_(sent(order.chunk_type)),
        chunk_count_(sent(order.chunk_count)),
        masked_begin_(sent(order.masked_begin)),
        masked_chunks_(sent(order.masked_chunks)),
        mask_(sent(order.mask)),
        listed_begin_(sent(pairs.begin)),
        values_(room<double>(all_sums * order.slots())),
        quanta_(room<std::int64_t>(all_sums * order.slots())),
        worst_ratio_(room<float>(order.slots())),
        worst_energy_(room<float>(order.slots())),
        strayed_(room<std::uint8_t>(order.slots())) {}

  double run(const PairForm& form, const PairTables<float>& single, const PairTables<double>& wide, bool rescaled,
             const PairSums& out) override {
    const double seconds =
        form.method == Method::double_double ? run(form, wide, wide_, rescaled) : run(form, single, single_, rescaled);
    fetch(form, out);
    return seconds;
  }

 private:
  template <class T>
  double run(const PairForm& form, const PairTables<T>& tables, DeviceTables<T>& there, bool rescaled) {
    there.send(tables, rescaled);
    PairProblem<T> problem = tables.problem(order_, pairs_);
    problem.chunk_type = chunk_type_.get();
    problem.chunk_count = chunk_count_.get();
    problem.masked_begin = masked_begin_.get();
    problem.masked_chunks = masked_chunks_.get();
    problem.mask = mask_.get();
    problem.listed_begin = listed_begin_.get();
    there.point(problem);
    const PairSums sums{values_.get(),       quanta_.get(),  worst_ratio_.get(),
                        worst_energy_.get(), strayed_.get(), order_.slots()};
    if (!clock_) clock_.emplace();
    const GroupRange mine = shares_.mine(order_.groups());
    const auto timed = [&](int shape) {
      return clock_->seconds([&] { launch_pairs(form, problem, sums, mine, shape); });
    };
    const double seconds = timed(form.energy ? 0 : shape(form, timed));
    shares_.gather(sums, order_.groups(), is_fixed(form.method), form.energy);
    return seconds;
  }

  template <class Measure>
  int shape(const PairForm& form, Measure measure) const {
    const TuningKey key{cuda_backend().device(), QUADRILLE_VERSION,
                        fmt::format("md_pairs_{}{}{} {}", letter_of(form.method), form.coulomb ? "_coulomb" : "",
                                    form.periodic ? "_periodic" : "", std::bit_ceil(std::uint64_t(order_.groups())))};
    return tuner().choose(key, {launch_shape_names[0], launch_shape_names[1]}, measure);
  }

  void fetch(const PairForm& form, const PairSums& out) const {
    Backend& backend = cuda_backend();
    const auto slots = std::size_t(order_.slots()), sums = slots * std::size_t(form.energy ? all_sums : force_sums);
    backend.copy_out(out.values, values_.get(), sums * sizeof(double));
    if (!is_fixed(form.method)) return;
    backend.copy_out(out.quanta, quanta_.get(), sums * sizeof(std::int64_t));
    backend.copy_out(out.worst_ratio, worst_ratio_.get(), slots * sizeof(float));
    backend.copy_out(out.worst_energy, worst_energy_.get(), slots * sizeof(float));
    backend.copy_out(out.strayed, strayed_.get(), slots);
  }

  const PairOrder& order_;
  const ListedPairs& pairs_;
  RankShares shares_;
  cuda::DeviceArray<std::int32_t> chunk_type_, chunk_count_;
  cuda::DeviceArray<std::int64_t> masked_begin_;
  cuda::DeviceArray<std::int32_t> masked_chunks_;
  cuda::DeviceArray<std::uint64_t> mask_;
  cuda::DeviceArray<std::int64_t> listed_begin_;
  cuda::DeviceArray<double> values_;
  cuda::DeviceArray<std::int64_t> quanta_;
  cuda::DeviceArray<float> worst_ratio_, worst_energy_;
  cuda::DeviceArray<std::uint8_t> strayed_;
  DeviceTables<float> single_;
  DeviceTables<double> wide_;
  std::optional<cuda::StreamClock> clock_;
};

}  // namespace

std::unique_ptr<PairEngine> make_cuda_engine(const PairOrder& order, const ListedPairs& pairs,
                                             const Communicator* ranks) {
  return std::make_unique<CudaEngine>(order, pairs, ranks);
}

}  // namespace quadrille::md
