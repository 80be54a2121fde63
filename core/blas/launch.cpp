// Launches fused operations: picks the kernel, divides the sites into chunks, and combines the partial sums.
#include "core/blas/launch.h"

#include "core/error.h"
#include "core/field/site_format.h"
#include "core/numbers/chunked_sum.h"
#include "core/simd/isa.h"
#include "core/system/team.h"
#include "core/tuning/kernel_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <any>
#include <bit>
#include <span>
#include <string>
#include <vector>

namespace quadrille::blas {
namespace {

ChunkKernel find_kernel(const Operation& op, const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  if (desc.layout.grouped()) {
    throw Error(ErrorCode::internal, "field algebra on a CPU works on the vector layout, not on a device's");
  }
  const ChunkKernel kernel = op.set.find_kernel(isa_of_lanes(lanes, desc.precision), op.number, desc.precision, lanes);
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported, "no field-algebra kernel for " + to_string(desc.precision) + " in " +
                                            std::to_string(lanes) + " lanes in this build");
  }
  return kernel;
}

/// The kernel log's records of every operation of a set in one format: "axpy_norm2_half", "axpy_norm2_half_1x12" of
/// what are no spinors.
std::vector<KernelRecord*> make_records(const OpSet& set, const FieldDesc& desc) {
  const std::string architecture = desc.backend->architecture(desc.layout, desc.precision);
  const std::string of_site =
      desc.site == site_formats::spinor ? "" : fmt::format("_{}x{}", desc.site.sections, desc.site.section);
  std::vector<KernelRecord*> records;
  for (const OpTraits& op : std::span(set.ops, std::size_t(set.size))) {
    records.push_back(&kernel_record(fmt::format("{}_{}{}", op.name, to_string(desc.precision), of_site), architecture,
                                     (std::popcount(op.reads) + std::popcount(op.writes)) * desc.bytes_per_site()));
  }
  return records;
}

struct Format {
  const OpSet* set;
  const Backend* backend;
  SiteFormat site;
  Precision precision;
  Layout layout;
  std::vector<KernelRecord*> records;
};

/// All records of a set in one format are made with the first: what a solver comes to late must not allocate.
KernelRecord& record(const Operation& op, const FieldDesc& desc) {
  std::any& kept = kernel_log().field_algebra;
  if (!kept.has_value()) kept = std::vector<Format>{};
  auto& known = *std::any_cast<std::vector<Format>>(&kept);
  for (const Format& format : known) {
    if (format.set == &op.set && format.backend == desc.backend && format.site == desc.site &&
        format.precision == desc.precision && format.layout.lanes == desc.layout.lanes) {
      return *format.records[std::size_t(op.number)];
    }
  }
  known.push_back({&op.set, desc.backend, desc.site, desc.precision, desc.layout, make_records(op.set, desc)});
  return *known.back().records[std::size_t(op.number)];
}

/// Partial sums of the call that this thread runs, with room for those of any operation; grows to its largest lattice
/// and stays.
std::vector<double>& partial_sums(std::int64_t rows) {
  thread_local std::vector<double> sums;
  const std::size_t wanted = std::size_t(rows * most_sums);
  if (sums.size() < wanted) sums.resize(wanted);
  return sums;
}

/// Of anything but vectors of complex numbers sums and multiples would mean nothing, or less would be seen than there
/// is.
void require_vectors(const FieldDesc& desc) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::unsupported, "field algebra works on vectors of complex numbers, not on " + what);
  };
  if (desc.holds_links()) refuse("links");
  if (desc.components() % 2 != 0 || desc.components() > most_site_numbers)
    refuse(fmt::format("{} with {} real numbers a site", desc.site.name, desc.components()));
  if (desc.precision == Precision::Half && !desc.site.norms)
    refuse(fmt::format("{} without norms in half precision", desc.site.name));
}

}  // namespace

void launch(const Operation& op, const Field* const* fields, Span* spans, const Resident& resident, double* sums) {
  const FieldDesc& desc = fields[0]->desc();
  require_vectors(desc);
  for (int i = 0; i < op.fields; ++i) require_same(fields[i]->desc(), desc, "field algebra");
  Call call{op, &desc, 0, {}, resident};
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (!fields[0]->holds(p)) continue;
    Span* const of_parity = spans + call.parities * op.fields;
    for (int i = 0; i < op.fields; ++i) {
      Field* field = const_cast<Field*>(fields[i]);  // only the operation's `writes` are written
      of_parity[i] = {field->numbers(p), field->norms(p)};
    }
    call.spans[call.parities++] = of_parity;
  }
  const KernelTimer timer(record(op, desc), call.parities * desc.lattice->half_volume(), desc.backend->host_memory());
  desc.backend->run(call, sums);
  if (op.sums > 0 && resident.scalars == nullptr) desc.lattice->communicator().sum(sums, op.sums);
}

void run_on_cpu(const Call& call, double* sums) {
  const FieldDesc& desc = *call.desc;
  const ChunkKernel kernel = find_kernel(call.op, desc);
  const std::int64_t blocks = desc.lattice->half_volume() / desc.layout.lanes;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, sum_chunk / desc.layout.lanes);
  const std::int64_t chunks = (blocks + per_chunk - 1) / per_chunk;

  // What is written past half the caches will have left them before it is wanted again.
  const bool stream = std::size_t(call.op.fields) * desc.bytes() > desc.backend->cache_bytes() / 2;

  const std::int64_t rows = call.parities * chunks;
  const std::size_t of_row = std::size_t(call.op.sums);
  std::vector<double>& partial = partial_sums(rows);
  team_for(rows, [&](std::int64_t row) {
    const std::int64_t begin = (row % chunks) * per_chunk;
    kernel(call.op.functor, call.spans[row / chunks], desc.components(), begin, std::min(blocks, begin + per_chunk),
           stream, partial.data() + std::size_t(row) * of_row);
  });
  if (of_row == 0) return;
  combine_partial_sums(partial.data(), std::size_t(rows), of_row);
  std::copy_n(partial.begin(), of_row, sums);
}

}  // namespace quadrille::blas
