// Field algebra: picks the kernel, divides the sites into chunks, and combines the partial sums.
#define QUADRILLE_ISA dispatch  // the functors as plain data: no kernel is instantiated here
#include "core/blas/blas.h"

#include "core/blas/bicgstab_steps.h"
#include "core/blas/call.h"
#include "core/blas/cg_steps.h"
#include "core/blas/mr_steps.h"
#include "core/blas/ops.h"
#include "core/error.h"
#include "core/numbers/chunked_sum.h"
#include "core/simd/isa.h"
#include "core/simd/of_isa.h"
#include "core/system/team.h"
#include "core/tuning/kernel_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace quadrille::blas {
namespace {

ChunkKernel find_kernel(OpId op, const FieldDesc& desc) {
  const int lanes = desc.layout.lanes;
  if (desc.layout.grouped()) {
    throw Error(ErrorCode::internal, "field algebra on a CPU works on the vector layout, not on a device's");
  }
  const ChunkKernel kernel =
      QUADRILLE_OF_ISA(isa_of_lanes(lanes, desc.precision), find_kernel)(op, desc.precision, lanes);
  if (kernel == nullptr) {
    throw Error(ErrorCode::unsupported, "no field-algebra kernel for " + to_string(desc.precision) + " in " +
                                            std::to_string(lanes) + " lanes in this build");
  }
  return kernel;
}

/// "AxpyNorm2" -> "axpy_norm2".
std::string snake_case(const std::string& name) {
  std::string snake;
  for (const char c : name) {
    if (std::isupper(static_cast<unsigned char>(c)) && !snake.empty()) snake += '_';
    snake += char(std::tolower(static_cast<unsigned char>(c)));
  }
  return snake;
}

/// The kernel log's records of every operation in one format, by OpId: "axpy_norm2_half", "axpy_norm2_half_1x12" of
/// what are no spinors.
std::vector<KernelRecord*> make_records(const FieldDesc& desc) {
  const std::string architecture = desc.backend->architecture(desc.layout, desc.precision);
  const std::string of_site =
      desc.site == site_formats::spinor ? "" : fmt::format("_{}x{}", desc.site.sections, desc.site.section);
#define X(op)                                                                               \
  &kernel_record(snake_case(#op) + "_" + to_string(desc.precision) + of_site, architecture, \
                 (std::popcount(op::reads) + std::popcount(op::writes)) * desc.bytes_per_site()),
  return {QUADRILLE_BLAS_OPS(X)};
#undef X
}

struct Format {
  const Backend* backend;
  SiteFormat site;
  Precision precision;
  Layout layout;
  std::vector<KernelRecord*> records;
};

/// All records of a format are made with the first: what a solver comes to late must not allocate.
KernelRecord& record(OpId id, const FieldDesc& desc) {
  std::any& kept = kernel_log().field_algebra;
  if (!kept.has_value()) kept = std::vector<Format>{};
  auto& known = *std::any_cast<std::vector<Format>>(&kept);
  for (const Format& format : known) {
    if (format.backend == desc.backend && format.site == desc.site && format.precision == desc.precision &&
        format.layout.lanes == desc.layout.lanes) {
      return *format.records[std::size_t(id)];
    }
  }
  known.push_back({desc.backend, desc.site, desc.precision, desc.layout, make_records(desc)});
  return *known.back().records[std::size_t(id)];
}

/// Partial sums of the call that this thread runs; grows to its largest lattice and stays.
std::vector<Sums>& partial_sums() {
  thread_local std::vector<Sums> sums;
  return sums;
}

/// Of anything but vectors of complex numbers sums and multiples would mean nothing, or less would be seen than there
/// is.
void require_vectors(const FieldDesc& desc) {
  const auto refuse = [](const std::string& what) {
    throw Error(ErrorCode::unsupported, "field algebra works on vectors of complex numbers, not on " + what);
  };
  if (desc.nrhs != 1) refuse(fmt::format("{} right-hand sides", desc.nrhs));
  if (desc.holds_links()) refuse("links");
  if (desc.components() % 2 != 0 || desc.components() > most_site_numbers)
    refuse(fmt::format("{} with {} real numbers a site", desc.site.name, desc.components()));
  if (desc.precision == Precision::Half && !desc.site.norms)
    refuse(fmt::format("{} without norms in half precision", desc.site.name));
}

template <class Op>
Sums launch(OpId id, const Op& op, std::array<const Field*, Op::fields> fields, void* scalars = nullptr,
            void* snapshot = nullptr, JoinedSums* joined = nullptr) {
  const FieldDesc& desc = fields[0]->desc();
  Call call{id, &op, Op::fields, Op::sums, Op::overwrites, &desc, 0, {}, scalars, snapshot, joined};
  require_vectors(desc);
  for (const Field* field : fields) require_same(field->desc(), desc, "field algebra");
  for (Parity p : {Parity::Even, Parity::Odd}) {
    if (!fields[0]->holds(p)) continue;
    for (int i = 0; i < Op::fields; ++i) {
      Field* field = const_cast<Field*>(fields[std::size_t(i)]);  // only the operation's `writes` are written
      call.spans[call.parities][i] = {field->numbers(p), field->norms(p)};
    }
    ++call.parities;
  }
  const KernelTimer timer(record(id, desc), call.parities * desc.lattice->half_volume(), desc.backend->host_memory());
  Sums total = desc.backend->run(call);
  if constexpr (Op::sums > 0) {
    if (scalars == nullptr) desc.lattice->communicator().sum(total.data(), Op::sums);
  }
  return total;
}

/// An operation whose scalars stay where its fields are; they stay with the host where it adds up the sums of devices
/// over ranks.
template <class Op, class Scalars>
void launch_held(OpId id, Op op, std::array<const Field*, Op::fields> fields, ResidentScalars<Scalars>& held) {
  const FieldDesc& desc = fields[0]->desc();
  const bool host_adds = desc.lattice->communicator().size() > 1 && held.joined() == nullptr;
  if (desc.backend->host_memory() || host_adds) {
    Scalars& now = *held.on_host();
    if (!begin(op, now)) return;
    [[maybe_unused]] const Sums sums = launch(id, op, fields);
    if constexpr (Op::sums > 0) finish(op, now, sums.data());
  } else {
    launch(id, op, fields, held.there(), held.on_host(), held.joined());
  }
}

Coefficient coefficient(Complex a) { return {a.real(), a.imag()}; }

/// Calls pass(first, count) for the fields first to first + count, four at a time; count is a constant.
template <class Pass>
void in_passes(std::size_t fields, const Pass& pass) {
  constexpr std::size_t most = 4;
  for (std::size_t first = 0; first < fields; first += most) {
    switch (std::min(most, fields - first)) {
      case 1: pass(first, std::integral_constant<int, 1>{}); break;
      case 2: pass(first, std::integral_constant<int, 2>{}); break;
      case 3: pass(first, std::integral_constant<int, 3>{}); break;
      default: pass(first, std::integral_constant<int, 4>{});
    }
  }
}

template <int count>
std::array<const Field*, count + 1> fields_of_pass(std::span<const Field* const> x, std::size_t first, const Field& y) {
  std::array<const Field*, count + 1> fields;
  std::copy_n(x.begin() + std::ptrdiff_t(first), count, fields.begin());
  fields.back() = &y;
  return fields;
}

}  // namespace

Sums run_on_cpu(const Call& call) {
  const FieldDesc& desc = *call.desc;
  const ChunkKernel kernel = find_kernel(call.id, desc);
  const std::int64_t blocks = desc.lattice->half_volume() / desc.layout.lanes;
  const std::int64_t per_chunk = std::max<std::int64_t>(1, sum_chunk / desc.layout.lanes);
  const std::int64_t chunks = (blocks + per_chunk - 1) / per_chunk;

  // What is written past half the caches will have left them before it is wanted again.
  const bool stream = std::size_t(call.fields) * desc.bytes() > desc.backend->cache_bytes() / 2;

  std::vector<Sums>& partial = partial_sums();
  const std::int64_t rows = call.parities * chunks;
  if (partial.size() < std::size_t(rows)) partial.resize(std::size_t(rows));
  team_for(rows, [&](std::int64_t row) {
    const std::int64_t begin = (row % chunks) * per_chunk;
    kernel(call.op, call.spans[row / chunks], desc.components(), begin, std::min(blocks, begin + per_chunk), stream,
           partial[std::size_t(row)].data());
  });
  return call.sums == 0 ? Sums{} : combine_partial_sums(std::span(partial).first(std::size_t(rows)));
}

void zero(Field& x) { launch(OpId::Zero, Zero{}, {&x}); }

void copy(Field& y, const Field& x) { launch(OpId::Copy, Copy{}, {&x, &y}); }

void scale(double a, Field& x) { launch(OpId::Scale, Scale{a}, {&x}); }

void axpy(double a, const Field& x, Field& y) { launch(OpId::Axpy, Axpy{a}, {&x, &y}); }

void xpay(const Field& x, double a, Field& y) { launch(OpId::Xpay, Xpay{a}, {&x, &y}); }

void caxpy(Complex a, const Field& x, Field& y) { launch(OpId::Caxpy, Caxpy{coefficient(a)}, {&x, &y}); }

double subtract_norm2(const Field& b, Field& r) { return launch(OpId::SubtractNorm2, SubtractNorm2{}, {&b, &r})[0]; }

double norm2(const Field& x) { return launch(OpId::Norm2, Norm2{}, {&x})[0]; }

Complex dot(const Field& x, const Field& y) {
  const auto sums = launch(OpId::Dot, Dot{}, {&x, &y});
  return {sums[0], sums[1]};
}

double axpy_norm2(double a, const Field& x, Field& y) { return launch(OpId::AxpyNorm2, AxpyNorm2{a}, {&x, &y})[0]; }

void cxpay(const Field& x, Complex a, Field& y) { launch(OpId::Cxpay, Cxpay{coefficient(a)}, {&x, &y}); }

double caxpy_norm2(Complex a, const Field& x, Field& y) {
  return launch(OpId::CaxpyNorm2, CaxpyNorm2{coefficient(a)}, {&x, &y})[0];
}

DotNorm2 dot_norm2(const Field& x, const Field& y) {
  const auto sums = launch(OpId::MrAlpha, MrAlpha{}, {&x, &y});
  return {{sums[0], sums[1]}, sums[2]};
}

void dots(std::span<const Field* const> x, const Field& y, Complex* out) {
  in_passes(x.size(), [&](std::size_t first, auto constant) {
    constexpr int count = constant;
    if constexpr (count == 1) {
      out[first] = dot(*x[first], y);
    } else {
      constexpr OpId ids[] = {OpId::Dots2, OpId::Dots3, OpId::Dots4};
      const Sums sums = launch(ids[count - 2], Dots<count>{}, fields_of_pass<count>(x, first, y));
      for (std::size_t i = 0; i < count; ++i) out[first + i] = {sums[2 * i], sums[2 * i + 1]};
    }
  });
}

void caxpys(std::span<const Complex> a, std::span<const Field* const> x, Field& y) {
  in_passes(x.size(), [&](std::size_t first, auto constant) {
    constexpr int count = constant;
    if constexpr (count == 1) {
      caxpy(a[first], *x[first], y);
    } else {
      constexpr OpId ids[] = {OpId::Caxpys2, OpId::Caxpys3, OpId::Caxpys4};
      Caxpys<count> op{};
      for (std::size_t i = 0; i < count; ++i) op.a[i] = coefficient(a[first + i]);
      launch(ids[count - 2], op, fields_of_pass<count>(x, first, y));
    }
  });
}

void cg_alpha(const Field& q, ResidentScalars<CgScalars>& now) { launch_held(OpId::CgAlpha, CgAlpha{}, {&q}, now); }

void cg_residual(const Field& q, Field& r, ResidentScalars<CgScalars>& now) {
  launch_held(OpId::CgResidual, CgResidual{}, {&q, &r}, now);
}

void cg_beta(const Field& z, ResidentScalars<CgScalars>& now) { launch_held(OpId::CgBeta, CgBeta{}, {&z}, now); }

void cg_update(Field& p, Field& y, const Field& z, ResidentScalars<CgScalars>& now) {
  launch_held(OpId::CgUpdate, CgUpdate{}, {&p, &y, &z}, now);
}

void bicgstab_alpha(const Field& v, const Field& r0, ResidentScalars<BicgstabScalars>& now) {
  launch_held(OpId::BicgstabAlpha, BicgstabAlpha{}, {&v, &r0}, now);
}

void bicgstab_half_step(const Field& v, Field& r, ResidentScalars<BicgstabScalars>& now) {
  launch_held(OpId::BicgstabHalfStep, BicgstabHalfStep{}, {&v, &r}, now);
}

void bicgstab_omega(const Field& t, const Field& s, const Field& r0, double ask_below,
                    ResidentScalars<BicgstabScalars>& now) {
  launch_held(OpId::BicgstabOmega, BicgstabOmega{ask_below}, {&t, &s, &r0}, now);
}

void bicgstab_update(Field& p, const Field& t, const Field& v, Field& y, Field& r,
                     ResidentScalars<BicgstabScalars>& now) {
  launch_held(OpId::BicgstabUpdate, BicgstabUpdate{}, {&p, &t, &v, &y, &r}, now);
}

void mr_alpha(const Field& t, const Field& r, ResidentScalars<MrScalars>& now) {
  launch_held(OpId::MrAlpha, MrAlpha{}, {&t, &r}, now);
}

void mr_update(const Field& t, Field& r, Field& y, ResidentScalars<MrScalars>& now) {
  launch_held(OpId::MrUpdate, MrUpdate{}, {&t, &r, &y}, now);
}

}  // namespace quadrille::blas
