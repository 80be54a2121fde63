#include "solvers/multigrid/multigrid.h"

#include "core/backend/of_backend.h"
#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/error.h"
#include "core/field/convert.h"
#include "core/system/log.h"
#include "core/system/memory.h"
#include "solvers/joined_operator.h"
#include "solvers/methods/methods.h"
#include "solvers/multigrid/chiral_sites.h"
#include "solvers/multigrid/coarse_operator.h"
#include "solvers/multigrid/cuda/device_multigrid.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>

namespace quadrille {

using namespace multigrid;

namespace {

constexpr std::int64_t small_lattice = 4096;  ///< sites of a coarsest level that GCR solves quickly
constexpr int relaxed_at_once = 8;
constexpr double no_contraction = 0.9;  ///< of a cycle; smoothing alone does as well

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// Gaussian numbers that depend on the seed and the global site alone, for each backend others.
void fill_with_noise(Field& x, std::uint64_t seed) {
  if (x.desc().backend->host_memory()) return fill_gaussian(x, seed);
  with_cuda([&](auto) { fill_with_noise_on_device(x, seed); });
}

/// |x| = 1. False where x has no norm.
bool normalise(Field& x) {
  const double norm2 = blas::norm2(x);
  if (!(norm2 > 0) || !std::isfinite(norm2)) return false;
  blas::scale(1 / std::sqrt(norm2), x);
  return true;
}

/// A residual of the reduced system must be one of the full system (level_system.h).
void require_asymmetric(const LinearSystem& system) {
  Field b(system.full_desc()), rhs(system.reduced().field_desc());
  fill_with_noise(b, 1);
  if (system.prepare(rhs, b) == 1) return;
  throw Error(ErrorCode::unsupported, "multigrid goes with preconditioning.form: asymmetric");
}

/// `bytes` where the fields of a backend lie.
void require_memory_of(const Backend& backend, double bytes, const std::string& what) {
  if (backend.host_memory()) return require_memory(bytes, what);
  const double free = double(backend.available_bytes());
  if (bytes <= free) return;
  throw NotEnoughMemory(fmt::format("not enough memory of the device: {} needs {}, {} are free", what,
                                    bytes_text(bytes), bytes_text(free)));
}

std::string extents(const Dims& dims) { return fmt::format("{}", fmt::join(dims, " x ")); }

}  // namespace

struct Multigrid::Level {
  std::shared_ptr<const Aggregates> finer;       ///< has this level's lattice, which outlives its fields
  std::shared_ptr<const Aggregates> aggregates;  ///< null on the coarsest
  std::unique_ptr<LevelSystem> system;
  std::vector<Field> vectors;
  std::unique_ptr<Transfer> transfer;
  std::unique_ptr<Cycle> cycle;
};

Multigrid::Multigrid(const LinearSystem& system, const OperatorForm& form, const MultigridSettings& settings)
    : settings_(settings) {
  const auto began = std::chrono::steady_clock::now();
  const FieldDesc& full = system.full_desc();
  if (full.lattice->communicator().size() > 1) throw Error(ErrorCode::unsupported, "multigrid runs on one rank so far");
  if (!full.backend->host_memory()) heed_device();
  plan(full);
  // All 18 numbers of a link: the test vectors and P belong to the links as they are given, unitary or not.
  const OperatorForm of_setup{Precision::Single, Reconstruct::R18, form.temporal_gauge};
  std::unique_ptr<LinearSystem> finest = system.converted(of_setup);
  require_asymmetric(*finest);
  levels_[0]->system = std::make_unique<FinestSystem>(std::move(finest));
  OperatorForm of_cycle = form;
  if (full.backend->host_memory()) of_cycle.precision = Precision::Single;
  if (!(of_cycle == of_setup)) of_cycle_ = system.reduced().converted(of_cycle);
  build();
  for (int round = 0; round < settings_.setup_cycles; ++round) {
    refine();
    build();
  }
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    report_.levels[l].after = quality(l);
    levels_[l]->vectors.clear();
  }
  measure();
  // What the setup alone needs: scratch of many right-hand sides, and links that the cycle has in another form.
  for (const auto& level : levels_) level->cycle.reset();
  make_cycles();
  in_.reset();
  out_.reset();
  if (of_cycle_) levels_[0]->system.reset();
  report_.seconds = seconds_since(began);
}

Multigrid::~Multigrid() = default;

void Multigrid::heed_device() {
  const DeviceLimits limits = with_cuda<DeviceLimits>([](auto) { return device_limits(); });
  if (settings_.vectors > limits.vectors) {
    throw Error(ErrorCode::unsupported,
                fmt::format("multigrid on this GPU has up to {} `vectors`, not {}", limits.vectors, settings_.vectors));
  }
  const auto heed = [&](const char* what, int asked) {
    if (asked <= limits.directions) return;
    log().warn("multigrid: `{}` of coarse levels on a GPU are {} at most, not {}", what, limits.directions, asked);
  };
  heed("smoothing_steps", settings_.cycle.smoothing_steps);
  heed("coarse_iterations", settings_.cycle.coarse_directions);
  settings_.cycle.coarse_directions = std::min(settings_.cycle.coarse_directions, limits.directions);
}

double Multigrid::bytes_of_level(const Lattice& lattice, int components, bool coarsest) const {
  const bool finest = levels_.empty();
  const double field = double(lattice.volume()) * components * 2 * sizeof(float), links = 4 * 18 * sizeof(float);
  // Fields of a right-hand side: of an incomplete solve, or on a coarse level the directions of the finer one's cycle.
  const double relaxed = coarsest ? 0 : 6.0 * relaxed_at_once, vectors = coarsest ? 0 : settings_.vectors;
  const double cycled = (settings_.cycle.coarse_directions + 7.0) * (settings_.setup_cycles > 0 ? relaxed_at_once : 2);
  // The vectors and P, and the links of the setup and of the cycle.
  return field * (2 * vectors + (finest ? relaxed : std::max(relaxed, cycled))) +
         (finest ? 2 * links * double(lattice.volume()) : 0);
}

void Multigrid::plan(const FieldDesc& full) {
  const Lattice* here = full.lattice;
  double bytes = 0;
  int components = 12;
  const int most = settings_.levels.value_or(4);
  while (int(levels_.size()) + 1 < most) {
    if (!levels_.empty() && !settings_.levels && here->volume() <= small_lattice) break;
    if (!levels_.empty() && here->volume() <= 16) break;  // 2 sites in each direction
    const Dims blocks = fitting_blocks(here->dims(), levels_.empty() ? settings_.blocks : Dims{2, 2, 2, 2});
    bytes += bytes_of_level(*here, components, false);
    auto level = std::make_unique<Level>();
    if (!levels_.empty()) level->finer = levels_.back()->aggregates;
    level->aggregates = std::make_shared<const Aggregates>(*here, blocks);
    report_.levels.push_back({here->dims(), blocks, settings_.vectors});
    here = &level->aggregates->coarse();
    components = 2 * settings_.vectors;
    bytes += coarse_system_bytes(coarse_desc(*here, settings_.vectors, Precision::Single, *full.backend));
    levels_.push_back(std::move(level));
  }
  bytes += bytes_of_level(*here, components, true);
  const std::shared_ptr<const Aggregates> finer = levels_.back()->aggregates;
  levels_.push_back(std::make_unique<Level>());
  levels_.back()->finer = finer;
  if (settings_.levels && int(levels_.size()) < *settings_.levels) {
    log().warn("multigrid: {} levels, not {}: the coarsest lattice has 2 sites in each direction", levels_.size(),
               *settings_.levels);
  }
  report_.bytes_at_most = bytes;
  require_memory_of(*full.backend, bytes,
                    fmt::format("multigrid with {} vectors on {} levels", settings_.vectors, levels_.size()));
}

void Multigrid::relax(std::size_t l) {
  Level& level = *levels_[l];
  const FieldDesc& full = level.system->full().field_desc();
  const LinearOperator& reduced = level.system->reduced();
  while (int(level.vectors.size()) < settings_.vectors) level.vectors.emplace_back(full);
  for (int k = 0; k < settings_.vectors; ++k) {
    fill_with_noise(level.vectors[std::size_t(k)], 0x6d756c7469000000u + std::uint64_t(64 * l) + std::uint64_t(k));
    (void)normalise(level.vectors[std::size_t(k)]);
  }
  report_.levels[l].before = quality(l);
  Meeting meeting;
  const JoinedOperator joined(reduced, meeting);
  std::vector<std::unique_ptr<Solver>> solvers;
  std::vector<Field> rhs, found;
  for (int i = 0; i < relaxed_at_once; ++i) {
    solvers.push_back(make_bicgstab({joined}));
    rhs.emplace_back(reduced.field_desc());
    found.emplace_back(reduced.field_desc());
  }
  Field solution(full), image(full);
  for (int first = 0; first < settings_.vectors; first += relaxed_at_once) {
    const int count = std::min(relaxed_at_once, settings_.vectors - first);
    const auto vector = [&](int i) -> Field& { return level.vectors[std::size_t(first + i)]; };
    for (int i = 0; i < count; ++i) {
      level.system->full().apply(image, vector(i), Dagger::No);
      level.system->prepare_each(only({&rhs[std::size_t(i)], &image}));
    }
    meeting.hold(count, full.lattice->communicator(), [&](int i) {
      const double norm = std::sqrt(blas::norm2(rhs[std::size_t(i)]));
      constexpr double far_enough = 1e-4;
      (void)solvers[std::size_t(i)]->solve(found[std::size_t(i)], rhs[std::size_t(i)],
                                           {far_enough * norm, settings_.setup_iterations});
    });
    for (int i = 0; i < count; ++i) {
      Field& v = vector(i);
      level.system->full().apply(image, v, Dagger::No);
      level.system->reconstruct_each(only({&solution, &found[std::size_t(i)], &image}));
      blas::xpay(v, -1, solution);  // what the solve has not found: M v is its residual
      if (normalise(solution)) blas::copy(v, solution);
    }
  }
}

double Multigrid::quality(std::size_t l) const {
  const Level& level = *levels_[l];
  Field image(level.system->full().field_desc());
  double sum = 0;
  for (const Field& vector : level.vectors) {
    level.system->full().apply(image, vector, Dagger::No);
    sum += std::sqrt(blas::norm2(image) / blas::norm2(vector));
  }
  return sum / double(level.vectors.size());
}

void Multigrid::coarsen(std::size_t l) {
  Level& level = *levels_[l];
  if (!level.transfer) {
    level.transfer = make_transfer(level.aggregates, level.system->full().field_desc(), settings_.vectors);
  }
  for (int k = 0; k < settings_.vectors; ++k) level.transfer->take(k, level.vectors[std::size_t(k)]);
  constexpr double dependent = 1e-5;
  const double kept = level.transfer->orthonormalise();
  if (!(kept > dependent)) {
    throw Error(
        ErrorCode::numerical,
        fmt::format("test vectors of level {} depend on each other within a block of {} ({:.1e} of one is left): "
                    "fewer `vectors` or larger `blocks`",
                    l + 1, extents(level.aggregates->block()), kept));
  }
  levels_[l + 1]->system.reset();  // its memory first
  levels_[l + 1]->system = make_coarse_system(level.system->full(), *level.transfer);
  report_.levels[l].bytes = level.transfer->bytes() + levels_[l + 1]->system->bytes();
}

void Multigrid::build() {
  for (const auto& level : levels_) level->cycle.reset();
  for (std::size_t l = 0; l + 1 < levels_.size(); ++l) {
    const auto began = std::chrono::steady_clock::now();
    if (l > 0 || levels_[l]->vectors.empty()) relax(l);
    coarsen(l);
    report_.levels[l].seconds += seconds_since(began);
  }
  make_cycles();
}

void Multigrid::make_cycles() {
  for (std::size_t l = levels_.size() - 1; l-- > 0;) {
    const LinearOperator& s = l == 0 ? smoothed() : levels_[l]->system->reduced();
    levels_[l]->cycle = std::make_unique<Cycle>(s, *levels_[l]->transfer, *levels_[l + 1]->system,
                                                levels_[l + 1]->cycle.get(), settings_.cycle);
  }
}

void Multigrid::refine() {
  const auto began = std::chrono::steady_clock::now();
  Level& level = *levels_[0];
  std::vector<Field> rhs, found;
  for (int i = 0; i < relaxed_at_once; ++i) {
    rhs.emplace_back(level.system->reduced().field_desc());
    found.emplace_back(rhs.back().desc());
  }
  Field solution(level.system->full().field_desc());
  for (int first = 0; first < settings_.vectors; first += relaxed_at_once) {
    const int count = std::min(relaxed_at_once, settings_.vectors - first);
    std::vector<Operands> calls;
    for (int i = 0; i < count; ++i) {
      level.system->prepare_each(only({&rhs[std::size_t(i)], &level.vectors[std::size_t(first + i)]}));
      calls.push_back({&found[std::size_t(i)], &rhs[std::size_t(i)]});
    }
    apply_each(calls, Dagger::No);
    for (int i = 0; i < count; ++i) {
      Field& vector = level.vectors[std::size_t(first + i)];
      level.system->reconstruct_each(only({&solution, &found[std::size_t(i)], &vector}));
      if (normalise(solution)) blas::copy(vector, solution);
    }
  }
  report_.levels[0].seconds += seconds_since(began);
}

void Multigrid::measure() {
  constexpr int cycles = 12;  // the first ones take what is easy
  const Cycle& cycle = *levels_[0]->cycle;
  const ShortGcr outer(smoothed(), &cycle, cycles, 0);
  Field noise(field_desc()), y(field_desc()), exact(levels_[0]->system->reduced().field_desc());
  fill_with_noise(exact, 0x6d756c7469ffffffu);
  convert(noise, exact);
  outer.apply(y, noise, Dagger::No);  // allocates
  cycle.set_timed(true);
  const auto began = std::chrono::steady_clock::now();
  outer.apply(y, noise, Dagger::No);
  report_.cycle_seconds = seconds_since(began) / cycles;
  cycle.set_timed(false);
  for (std::size_t part = 0; part < Cycle::parts; ++part) report_.parts[part] = cycle.seconds()[part] / cycles;
  report_.contraction = outer.contraction();
  report_.coarse_iterations = cycle.coarse_solver().mean_directions();
  const Backend& backend = *field_desc().backend;
  Field another(field_desc());
  const std::size_t before = backend.allocated_bytes();
  cycle.apply_each(std::array{Operands{&y, &noise}, Operands{&another, &noise}}, Dagger::No);
  bytes_of_one_ = backend.allocated_bytes() - before;
  if (!(report_.contraction < no_contraction)) {
    throw Error(
        ErrorCode::numerical,
        fmt::format("a cycle leaves {:.2f} of the residual: more `vectors`, `setup_cycles` or smoothing steps may "
                    "help; beyond a critical mass nothing does",
                    report_.contraction));
  }
}

double MultigridReport::cycles_for(double factor) const { return std::log(factor) / -std::log(contraction); }

const LinearOperator& Multigrid::smoothed() const {
  return of_cycle_ ? static_cast<const LinearOperator&>(*of_cycle_) : levels_[0]->system->reduced();
}

const FieldDesc& Multigrid::field_desc() const { return smoothed().field_desc(); }

std::size_t Multigrid::bytes_of_one(const FieldDesc& of_calls) const {
  return bytes_of_one_ + (of_calls == field_desc() ? 0 : 2 * field_desc().bytes());
}

double Multigrid::flops() const { return levels_[0]->cycle->flops(); }

void Multigrid::apply_each(OperandList list, Dagger dagger) const {
  if (list.front().x->desc() == field_desc()) return levels_[0]->cycle->apply_each(list, dagger);
  if (!in_) {
    in_.emplace(field_desc());
    out_.emplace(field_desc());
  }
  for (std::size_t i = 0; i < list.size(); ++i) convert((*in_)[i], *list[i].x);
  levels_[0]->cycle->apply_each(operands_for(list,
                                             [&](std::size_t i) {
                                               return Operands{&(*out_)[i], &(*in_)[i]};
                                             }),
                                dagger);
  for (std::size_t i = 0; i < list.size(); ++i) convert(*list[i].y, (*out_)[i]);
}

std::vector<std::string> Multigrid::table() const {
  std::vector<std::string> lines;
  for (std::size_t l = 0; l < report_.levels.size(); ++l) {
    const MultigridLevel& level = report_.levels[l];
    lines.push_back(fmt::format(
        "level {}: {} in blocks of {}, {} vectors v with |M v| {:.3g} |v| (random ones {:.3g}), {}, setup {:.2f} s",
        l + 1, extents(level.dims), extents(level.blocks), level.vectors, level.after, level.before,
        bytes_text(level.bytes), level.seconds));
  }
  lines.push_back(fmt::format(
      "a cycle leaves {:.3g} of the residual and takes {:.3g} ms: transfers {:.3g}, coarse levels {:.3g} ({:.1f} "
      "iterations), smoothing {:.3g} ms",
      report_.contraction, 1e3 * report_.cycle_seconds, 1e3 * report_.parts[Cycle::transfers],
      1e3 * report_.parts[Cycle::coarse], report_.coarse_iterations, 1e3 * report_.parts[Cycle::smoothing]));
  const double cycles = report_.cycles_for(1e10);
  lines.push_back(
      fmt::format("setup {:.2f} s; a solve alone to 1e-10 is expected to take about {:.0f} cycles, {:.2g} s",
                  report_.seconds, cycles, cycles * report_.cycle_seconds));
  return lines;
}

}  // namespace quadrille
