#include "modules/md/lists/cuda/list_engine.h"

#include "core/error.h"
#include "modules/md/lists/neighbour_lists.h"
#include "modules/md/pairs/cuda/arrays.h"

#include <bit>
#include <cmath>
#include <numeric>

namespace quadrille::md {
namespace {

void make_room(ThreeDevice& arrays, std::int64_t count) {
  for (cuda::DeviceArray<double>& axis : arrays) axis = room<double>(count);
}
template <class N>
void clear(const cuda::DeviceArray<N>& array, int byte = 0) {
  QUADRILLE_CUDA_CHECK(cudaMemsetAsync(array.get(), byte, std::size_t(array.count()) * sizeof(N), cuda::stream()));
}

}  // namespace

template <class T>
CudaListEngine<T>::CudaListEngine(const System& system, const ListOptions& options)
    : system_(system),
      options_(options),
      own_(system, options),
      shares_(options.forces.ranks, cuda_backend()),
      size_(system.size()),
      slots_((system.size() / list_lanes + 1) * list_lanes),
      halt_(room<Halt>(1)) {
  send_by_particle();
  for (ThreeDevice* arrays : {&position_, &old_position_, &listed_}) make_room(*arrays, slots_);
  particle_of_ = room<std::int32_t>(slots_);
  slot_of_ = room<std::int32_t>(size_);
  type_ = room<std::int32_t>(slots_);
  cell_ = room<std::int32_t>(slots_);
  charge_ = room<T>(slots_);
  clear(particle_of_, 0xff);  // -1: nobody
  clear(type_);
  clear(charge_);
  const std::vector<Place<T>> nobody(std::size_t(slots_ - size_), Place<T>{0, 0, 0, T(far_away(options))});
  at_ = room<Place<T>>(slots_);
  cuda_backend().copy_in(at_.get() + size_, nobody.data(), nobody.size() * sizeof(Place<T>));
  if constexpr (sizeof(T) == sizeof(double)) near_ = room<Place<float>>(slots_);
  length_ = room<std::int32_t>(slots_ / list_lanes);
  values_ = room<double>(all_sums * slots_);
  if (is_fixed(options.forces.method)) quanta_ = room<std::int64_t>(all_sums * slots_);
  worst_ratio_ = room<float>(slots_);
  worst_energy_ = room<float>(slots_);
  strayed_ = room<std::uint8_t>(slots_);
  watch_ = room<DeviceWatch>(1);
}

template <class T>
void CudaListEngine<T>::send_by_particle() {
  type_of_particle_ = sent(system_.types);
  if (charged()) {
    std::vector<T> charges(static_cast<std::size_t>(size_));
    for (std::size_t i = 0; i < system_.charges.size(); ++i) charges[i] = T(system_.charges[i]);
    charge_of_particle_ = sent(charges);
  }
  std::vector<std::int32_t> numbers(static_cast<std::size_t>(size_));
  std::iota(numbers.begin(), numbers.end(), 0);
  numbers_ = sent(numbers);
  cell_of_particle_ = room<std::int32_t>(size_);
  if (options_.forces.exclusions == ExclusionWay::on_the_fly && !system_.exclusions.empty()) {
    const Partners partners = partners_of(size_, system_.exclusions);
    left_out_begin_ = sent(partners.begin);
    left_out_ = sent(partners.other);
  }
  if (!own_.begin.empty()) own_begin_ = sent(own_.begin);
}

template <class T>
DeviceParticles CudaListEngine<T>::particles() {
  DeviceParticles out{size_, slots_, {}, {}, {}, mass_.get(), particle_of_.get(), slot_of_.get()};
  for (std::size_t k = 0; k < 3; ++k) {
    out.position[k] = position_[k].get();
    out.velocity[k] = velocity_[k].get();
    out.listed[k] = listed_[k].get();
  }
  return out;
}

template <class T>
PairSums CudaListEngine<T>::sums() const {
  return {values_.get(), quanta_.get(), worst_ratio_.get(), worst_energy_.get(), strayed_.get(), slots_};
}

template <class T>
void CudaListEngine<T>::set_box(const std::array<double, 3>& box) {
  if (box == edges_) return;
  edges_ = box;
  for (std::size_t k = 0; k < 3; ++k) {
    box_.edges[k] = box[k];
    box_.inverse_units[k] = 0x1p32 / box[k];
  }
  tables_.set_box(box);
  grid_ = CellGrid(size_, box, list_radius(options_));
  cell_begin_ = room<std::int32_t>(grid_.cells() + 1);
  workspace_ =
      room<char>(std::int64_t(sort_by_cell(nullptr, nullptr, nullptr, nullptr, size_, grid_.cells(), nullptr, 0)));
  // Room for half again as many as an even density has: lists that are longer say so.
  const double radius = list_radius(options_), volume = box[0] * box[1] * box[2];
  const double even = double(size_) / volume * 4.189 * radius * radius * radius;
  const auto wanted = std::int32_t(std::min(1.5 * even + 16, double(size_) + list_stride)) / list_stride * list_stride;
  if (wanted <= capacity_) return;
  capacity_ = wanted;
  quads_.reset();
  quads_ = room<ListQuad>(slots_ * capacity_ / list_stride);
}

template <class T>
cuda::DeviceArray<double> CudaListEngine<T>::sent_numbers(std::span<const double> numbers) const {
  auto there = room<double>(3 * size_);
  cuda_backend().copy_in(there.get(), numbers.data(), numbers.size_bytes());
  return there;
}

template <class T>
void CudaListEngine<T>::build(std::span<const double> positions, const std::array<double, 3>& box) {
  build_there(sent_numbers(positions).get(), box);
}

template <class T>
void CudaListEngine<T>::build_there(const double* positions, const std::array<double, 3>& box) {
  set_box(box);
  // Slots are those of the particles' numbers until they are sorted.
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(particle_of_.get(), numbers_.get(), std::size_t(size_) * sizeof(std::int32_t),
                                       cudaMemcpyDeviceToDevice, cuda::stream()));
  QUADRILLE_CUDA_CHECK(cudaMemcpyAsync(slot_of_.get(), numbers_.get(), std::size_t(size_) * sizeof(std::int32_t),
                                       cudaMemcpyDeviceToDevice, cuda::stream()));
  to_slots(positions, position_);
  const Gate gate{halt_.get(), nullptr, 0};
  relist(gate);
  for (Halt found = halted(); found.reasons != 0; found = halted()) {
    forget_halt();
    grow_lists(found.longest, gate);
  }
}

template <class T>
void CudaListEngine<T>::relist(const Gate& gate) {
  forget_halt();
  const DeviceParticles before = particles();
  launch_cells(before, box_, grid_, cell_of_particle_.get());
  sort_by_cell(cell_of_particle_.get(), numbers_.get(), cell_.get(), particle_of_.get(), size_, grid_.cells(),
               workspace_.get(), std::size_t(workspace_.count()));
  std::swap(position_, old_position_);
  std::swap(velocity_, old_velocity_);
  launch_placement(ParticlePlacement<T>{before, particles(), box_, grid_.cells(), cell_.get(), type_of_particle_.get(),
                                        charge_of_particle_.get(), mass_of_particle_.get(), cell_begin_.get(),
                                        type_.get(), charge_.get(), at_.get(), near_.get()});
  find_lists(gate);
}

template <class T>
void CudaListEngine<T>::find_lists(const Gate& gate) {
  const double radius = list_radius(options_);
  const Place<float>* near = near_.get();
  if constexpr (sizeof(T) == sizeof(float)) near = at_.get();
  const ListPassOf mine = pass({}, 0);
  ListBuild build{size_,
                  slots_,
                  mine.first,
                  mine.end,
                  grid_,
                  cell_.get(),
                  cell_begin_.get(),
                  near,
                  {},
                  float(radius * radius),
                  left_out_begin_.get(),
                  left_out_.get(),
                  particle_of_.get()};
  for (std::size_t k = 0; k < 3; ++k) build.unit[k] = float(edges_[k] * 0x1p-32);
  launch_lists(build, lists(), gate);
}

template <class T>
void CudaListEngine<T>::grow_lists(std::int32_t longest, const Gate& gate) {
  capacity_ = (longest + longest / 8 + list_stride) / list_stride * list_stride;
  quads_.reset();
  quads_ = room<ListQuad>(slots_ * capacity_ / list_stride);
  find_lists(gate);
}

template <class T>
Halt CudaListEngine<T>::halted() const {
  return cuda::fetched(halt_.get(), 1)[0];
}

template <class T>
void CudaListEngine<T>::forget_halt() {
  launch_forget(halt_.get());
}

template <class T>
DeviceListEngine::Change CudaListEngine<T>::change(const double* positions, const std::array<double, 3>& box,
                                                   std::optional<double> limit) {
  const auto found = room<unsigned>(1);
  launch_change({positions, particles(), {box[0], box[1], box[2]}, limit.has_value(), limit.value_or(0)}, found.get());
  const unsigned bits = cuda::fetched(found.get(), 1)[0];
  return {(bits & lists_stale) != 0, (bits & lost) != 0};
}

template <class T>
void CudaListEngine<T>::place(std::span<const double> positions) {
  place_there(sent_numbers(positions).get());
}

template <class T>
void CudaListEngine<T>::place_there(const double* positions) {
  to_slots(positions, position_);
  launch_places(particles(), box_, at_.get());
}

template <class T>
void CudaListEngine<T>::set_in_motion(std::span<const double> velocities, std::span<const double> masses) {
  make_room(velocity_, slots_);
  make_room(old_velocity_, slots_);
  to_slots(velocities, velocity_);
  if (masses.empty()) return;
  mass_of_particle_ = sent(std::vector<double>(masses.begin(), masses.end()));
  mass_ = room<double>(slots_);
  launch_by_slot(mass_of_particle_.get(), particle_of_.get(), size_, mass_.get());
}

template <class T>
void CudaListEngine<T>::to_slots(std::span<const double> numbers, ThreeDevice& by_slot) {
  to_slots(sent_numbers(numbers).get(), by_slot);
}

template <class T>
void CudaListEngine<T>::to_slots(const double* numbers_there, ThreeDevice& by_slot) {
  double* const axes[3] = {by_slot[0].get(), by_slot[1].get(), by_slot[2].get()};
  launch_scatter(numbers_there, particle_of_.get(), size_, axes);
}

template <class T>
std::vector<double> CudaListEngine<T>::in_order(const double* const (&by_slot)[3], double factor) {
  const auto there = room<double>(3 * size_);
  launch_gather(by_slot, slot_of_.get(), size_, factor, there.get());
  return cuda::fetched(there.get(), 3 * size_);
}

template <class T>
void CudaListEngine<T>::scale(const Exponents& exponents) {
  tables_.scale(system_, options_, own_, exponents);
  force12_ = sent(tables_.of_types.force12);
  force6_ = sent(tables_.of_types.force6);
  energy12_ = sent(tables_.of_types.energy12);
  energy6_ = sent(tables_.of_types.energy6);
  edge_force_ = sent(tables_.edge_force);
  energy_shift_ = sent(tables_.energy_shift);
  listed_pairs_ = sent(tables_.listed);
}

template <class T>
ListProblem<T> CudaListEngine<T>::problem() const {
  ListProblem<T> out = tables_.problem;
  out.force12 = force12_.get();
  out.force6 = force6_.get();
  out.energy12 = energy12_.get();
  out.energy6 = energy6_.get();
  out.edge_force = edge_force_.get();
  out.energy_shift = energy_shift_.get();
  out.listed_begin = own_begin_.get();
  out.listed = listed_pairs_.get();
  out.at = at_.get();
  out.type = type_.get();
  out.charge_at = charge_.get();
  out.particle_of = particle_of_.get();
  out.slot_of = slot_of_.get();
  return out;
}

template <class T>
ListPass CudaListEngine<T>::run(Method method, bool energy, bool quanta) {
  PairSums out = sums();
  if (!quanta) out.quanta = nullptr;
  last_ = method;
  if (quanta && quanta_.get() == nullptr) throw Error(ErrorCode::internal, "no room for quanta of this method");
  ListPass pass;
  if (!clock_) clock_.emplace();
  pass.seconds = clock_->seconds([&] {
    launch_list_pass({method, charged(), typed(), energy}, problem(), lists(), out, this->pass({}, 0));
  });
  const bool fixed = is_fixed(method);
  shares_.gather(out, slots_ / list_lanes, fixed, energy);
  launch_watch(out, size_, fixed, energy, watch_.get());
  const DeviceWatch seen = cuda::fetched(watch_.get(), 1)[0];
  const auto particle_in = [&](std::int32_t slot) { return cuda::fetched(particle_of_.get() + slot, 1)[0]; };
  if (seen.first_infinite < INT32_MAX) pass.infinite = particle_in(seen.first_infinite);
  if (!fixed) return pass;
  pass.watch = {std::bit_cast<float>(seen.ratio), std::bit_cast<float>(seen.energy), std::uint8_t(seen.strayed), -1};
  if (seen.last_strayed >= 0) pass.watch.who = particle_in(seen.last_strayed);
  return pass;
}

template <class T>
void CudaListEngine<T>::launch(const Gate& gate, float safe_ratio) {
  PairSums out = sums();
  out.quanta = nullptr;
  last_ = options_.forces.method;
  launch_list_pass({last_, charged(), typed(), false}, problem(), lists(), out, pass(gate, safe_ratio));
  if (!shares_.several()) return;
  agree_on_halt(gate);
  if (halted().reasons == 0)
    shares_.gather(out, slots_ / list_lanes, false, false);  // what is watched has been agreed on
}

template <class T>
ListPassOf CudaListEngine<T>::pass(const Gate& gate, float safe_ratio) const {
  const auto [begin, end] = shares_.mine(slots_ / list_lanes);
  return {begin * list_lanes, end * list_lanes, gate, safe_ratio};
}

/// What halts one rank halts all of them, and the hosts of all see it at the same time: the first reason of any, with
/// the particles of all.
template <class T>
void CudaListEngine<T>::agree_on_halt(const Gate& gate) {
  const std::vector<Halt> all = shares_.each(halted());
  Halt first{no_halt, 0, INT32_MAX, 0, INT32_MAX};
  for (const Halt& one : all) first.tick = std::min(first.tick, one.tick);
  for (const Halt& one : all) {
    if (one.tick != first.tick) continue;
    first.reasons |= one.reasons;
    first.particle = std::min(first.particle, one.particle);
    first.longest = std::max(first.longest, one.longest);
    first.term = std::min(first.term, one.term);
  }
  cuda_backend().copy_in(halt_.get(), &first, sizeof first);
  if (first.reasons != 0) *gate.seen = word_of({first.tick, first.reasons});
}

template <class T>
void CudaListEngine<T>::forces(double unit, std::span<double> out) {
  const auto there = room<double>(3 * size_);
  forces_there(unit, there.get());
  cuda_backend().copy_out(out.data(), there.get(), out.size_bytes());
}

template <class T>
void CudaListEngine<T>::forces_there(double unit, double* out) {
  const double* const axes[3] = {values_.get(), values_.get() + slots_, values_.get() + 2 * slots_};
  launch_gather(axes, slot_of_.get(), size_, unit, out);
}

template <class T>
std::vector<std::int64_t> CudaListEngine<T>::quanta() {
  const auto there = room<std::int64_t>(3 * size_);
  launch_gather(quanta_.get(), slots_, slot_of_.get(), size_, there.get());
  return cuda::fetched(there.get(), 3 * size_);
}

template <class T>
std::array<double, total_sums> CudaListEngine<T>::totals() {
  const std::int64_t chunks = chunks_of(size_);
  if (!is_fixed(last_)) {
    const auto there = room<double>(total_sums * chunks);
    launch_chunk_sums(values_.get() + force_sums * slots_, slots_, total_sums, slot_of_.get(), size_, there.get());
    return combined<total_sums>(there, chunks);
  }
  const auto there = room<std::uint64_t>(2 * total_sums * chunks);
  launch_chunk_sums(quanta_.get() + force_sums * slots_, slots_, total_sums, slot_of_.get(), size_, there.get());
  const std::vector<std::uint64_t> partial = cuda::fetched(there.get(), there.count());
  std::array<double, total_sums> out{};
  for (std::size_t sum = 0; sum < out.size(); ++sum) {
    unsigned __int128 added = 0;
    for (std::size_t n = sum * std::size_t(chunks); n < (sum + 1) * std::size_t(chunks); ++n) {
      added += static_cast<unsigned __int128>(partial[2 * n + 1]) << 64 | partial[2 * n];
    }
    out[sum] = double(static_cast<__int128>(added));
  }
  return out;
}

template <class T>
std::array<double, 4> CudaListEngine<T>::motion() {
  const auto there = room<double>(4 * chunks_of(size_));
  launch_motion_sums(particles(), there.get());
  return combined<4>(there, chunks_of(size_));
}

template <class T>
std::int64_t CudaListEngine<T>::entries() {
  const auto [begin, end] = shares_.mine(slots_ / list_lanes);
  const std::vector<std::int32_t> length = cuda::fetched(length_.get() + begin, end - begin);
  return shares_.sum(std::accumulate(length.begin(), length.end(), std::int64_t(0)) * list_lanes);
}

template class CudaListEngine<float>;
template class CudaListEngine<double>;

std::unique_ptr<DeviceListEngine> make_cuda_list_engine(const System& system, const ListOptions& options) {
  if (options.forces.method == Method::double_double) return std::make_unique<CudaListEngine<double>>(system, options);
  return std::make_unique<CudaListEngine<float>>(system, options);
}

}  // namespace quadrille::md
