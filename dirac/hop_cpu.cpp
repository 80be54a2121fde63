// Hopping kernels on the CPU: gathers what a generated kernel needs and runs it over the threads.
#include "core/layout/vector_layout.h"
#include "core/system/aligned_memory.h"
#include "core/system/team.h"
#include "dirac/bound_terms.h"
#include "dirac/halo_cpu.h"
#include "dirac/hop_kernel.h"
#include "dirac/kernel_table.h"

#include <vector>

namespace quadrille {
namespace {

class CpuHop final : public HopKernel {
 public:
  explicit CpuHop(const HopSetup& setup)
      : setup_(setup),
        kernel_(dirac::find_kernel(setup.op, setup.form.precision, setup.form.reconstruct, setup.spinor.layout.lanes)),
        local_(dirac::find_local_kernel(setup.op, setup.form.precision, setup.spinor.layout.lanes)),
        layout_(setup.spinor.lattice->vector_layout(setup.spinor.layout.lanes)) {
    if (setup.spinor.lattice->communicator().size() > 1) halo_ = std::make_unique<CpuHalo>(setup);
    if (setup.form.precision == Precision::Double) {
      make_crossings<double, std::int64_t>();
    } else {
      make_crossings<float, std::int32_t>();
    }
  }

  std::string name() const override { return kernel_.name; }
  std::string architecture() const override { return to_string(kernel_.isa); }
  void run(const HopCall& call) const override;
  void run_local(const HopCall& call) const override;

 private:
  /// As many calls as share a block's links at a time: more spinors of neighbouring blocks would not stay in the caches
  /// between the blocks that read them.
  static constexpr std::size_t most_together = 6;
  /// Calls f(part) for parts of the list of about equal length.
  template <class F>
  static void for_each_part(const HopCall& call, F&& f);
  void run_part(const HopCall& call) const;
  template <class Real, class Int>
  void make_crossings();
  /// Of each call of a part.
  using Fields = std::array<dirac::DslashFields, most_together>;
  static Fields fields_of(const HopCall& call);
  /// `fields` outlive them.
  dirac::DslashArgs arguments(const HopCall& call, const Fields& fields) const;
  /// On the blocks [0, count), or those that args.blocks lists.
  void run_blocks(dirac::DslashKernel kernel, const dirac::DslashArgs& args, std::int64_t count) const;

  HopSetup setup_;
  const dirac::KernelInfo& kernel_;
  dirac::DslashKernel local_;
  const VectorLayout& layout_;
  std::array<std::vector<std::uint8_t>, 2> crossings_;       ///< by parity of the result: DslashArgs::wraps
  std::array<std::shared_ptr<void>, 8> rotations_, phases_;  ///< aligned to 64 bytes
  std::unique_ptr<CpuHalo> halo_;                            ///< null on the only rank
};

// A block is marked in direction d when the shift changes lanes, meets a boundary factor other than 1, or (for t) may
// meet a time link that temporal gauge fixing has left; only those blocks take the kernel's slower path. Both are at
// the edges of the whole lattice.
template <class Real, class Int>
void CpuHop::make_crossings() {
  const int lanes = layout_.lanes();
  std::uint8_t marked = 0;
  for (int d = 0; d < 8; ++d) {
    const int mu = d % 4;
    const int last = layout_.lane_grid()[std::size_t(mu)] - 1;
    const bool global_edge = setup_.spinor.lattice->communicator().at_edge(d);
    const std::complex<double> factor = global_edge ? boundary_factor(setup_.scalars, d) : 1.0;
    if (last > 0 || factor != 1.0 || (mu == 3 && global_edge)) marked |= std::uint8_t(1u << d);
    rotations_[std::size_t(d)] = aligned_memory(sizeof(Int) * std::size_t(lanes));
    phases_[std::size_t(d)] = aligned_memory(2 * sizeof(Real) * std::size_t(lanes));
    Int* rotation = static_cast<Int*>(rotations_[std::size_t(d)].get());
    Real* phase = static_cast<Real*>(phases_[std::size_t(d)].get());
    for (int lane = 0; lane < lanes; ++lane) {
      rotation[lane] = Int(layout_.rotation(d)[std::size_t(lane)]);
      const bool at_edge = layout_.lane_coordinate(lane, mu) == (d < 4 ? last : 0);
      const std::complex<double> here = at_edge ? factor : 1.0;
      phase[lane] = Real(here.real());
      phase[lanes + lane] = Real(here.imag());
    }
  }
  for (Parity p : {Parity::Even, Parity::Odd}) {
    auto& crossings = crossings_[std::size_t(p)];
    crossings = layout_.wraps(p);
    for (std::uint8_t& bits : crossings) bits &= marked;
  }
}

CpuHop::Fields CpuHop::fields_of(const HopCall& call) {
  const Parity p = call.parity;
  Fields all{};
  for (std::size_t k = 0; k < call.list.size(); ++k) {
    const Operands& operands = call.list[k];
    dirac::DslashFields& fields = all[k];
    fields.out = operands.y->numbers(p);
    fields.out_norms = operands.y->norms(p);
    if (operands.x != nullptr) {
      fields.in = operands.x->numbers(opposite(p));
      fields.in_norms = operands.x->norms(opposite(p));
    }
    if (operands.z != nullptr) {
      fields.z = operands.z->numbers(p);
      fields.z_norms = operands.z->norms(p);
    }
  }
  return all;
}

dirac::DslashArgs CpuHop::arguments(const HopCall& call, const Fields& fields) const {
  const Parity p = call.parity;
  const FieldDesc& spinor = setup_.spinor;
  dirac::DslashArgs args{};
  args.calls = fields.data();
  args.count = int(call.list.size());
  args.spatial_links = setup_.spatial_links->numbers(p);
  args.time_links = setup_.time_links->numbers(p);
  args.neighbours = layout_.neighbours(p).data();
  args.wraps = crossings_[std::size_t(p)].data();
  for (std::size_t d = 0; d < 8; ++d) {
    args.rotations[d] = rotations_[d].get();
    args.phases[d] = phases_[d].get();
  }
  args.terms = dirac::bound_terms(setup_.op, call, setup_.scalars);
  args.upper = call.dagger == Dagger::Yes ? site_formats::spinor.section : 0;
  args.lower = site_formats::spinor.section - args.upper;
  // A result that would not survive in the caches goes past them: its old content need not be fetched then.
  const std::size_t links =
      setup_.spatial_links->desc().bytes() + (setup_.form.temporal_gauge ? 0 : setup_.time_links->desc().bytes());
  args.stream = links + 2 * call.list.size() * spinor.bytes() > spinor.backend->cache_bytes();
  args.temporal_gauge = setup_.form.temporal_gauge;
  return args;
}

void CpuHop::run_blocks(dirac::DslashKernel kernel, const dirac::DslashArgs& args, std::int64_t count) const {
  const bool worth_sharing = count * layout_.lanes() * args.count >= 1024;  // less takes as long as waking the threads
  if (!worth_sharing) return kernel(args, layout_.lanes(), 0, count);
  team_ranges(count, [&](std::int64_t begin, std::int64_t end) { kernel(args, layout_.lanes(), begin, end); });
}

template <class F>
void CpuHop::for_each_part(const HopCall& call, F&& f) {
  const std::size_t count = call.list.size(), parts = (count + most_together - 1) / most_together;
  for (std::size_t k = 0; k < parts; ++k) {
    const std::size_t first = count * k / parts;
    f(call.part(first, count * (k + 1) / parts - first));
  }
}

void CpuHop::run(const HopCall& call) const {
  for_each_part(call, [&](const HopCall& part) { run_part(part); });
}

void CpuHop::run_local(const HopCall& call) const {
  for_each_part(call, [&](const HopCall& part) {
    const Fields fields = fields_of(part);
    run_blocks(local_, arguments(part, fields), layout_.blocks());
  });
}

void CpuHop::run_part(const HopCall& call) const {
  Fields fields = fields_of(call);
  dirac::DslashArgs args = arguments(call, fields);
  if (!halo_) return run_blocks(kernel_.run, args, layout_.blocks());
  const auto run_list = [&](const std::vector<std::int32_t>& blocks) {
    args.blocks = blocks.data();
    run_blocks(kernel_.run, args, std::int64_t(blocks.size()));
  };
  halo_->start(call);
  run_list(halo_->inner_blocks(call.parity));
  halo_->finish();
  halo_->describe(args, std::span(fields).first(call.list.size()), call.parity);
  run_list(halo_->edge_blocks(call.parity));
}

}  // namespace

std::unique_ptr<HopKernel> make_hop_cpu(const HopSetup& setup) { return std::make_unique<CpuHop>(setup); }

}  // namespace quadrille
