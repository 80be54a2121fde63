#include "core/blas/blas.h"
#include "core/blas/random_fill.h"
#include "core/field/convert.h"
#include "core/tuning/kernel_log.h"
#include "input/bench/measurements.h"
#include "solvers/steps.h"

#include <array>
#include <deque>
#include <functional>
#include <map>

namespace quadrille::bench {
namespace {

constexpr std::size_t most_fields = 5;
using Fields = std::array<Field*, most_fields>;

struct Operation {
  std::function<void(const Fields&)> call;
  bool writes = true;  ///< a field, not only sums
};

template <class Scalars>
blas::ResidentScalars<Scalars>& held(const Field& x, const Scalars& scalars) {
  static std::map<Backend*, blas::ResidentScalars<Scalars>> of_backends;
  auto& held =
      of_backends.try_emplace(x.desc().backend, *x.desc().backend, x.desc().lattice->communicator()).first->second;
  held.set(scalars);
  return held;
}

// Scalars with which an iteration goes on.

blas::ResidentScalars<steps::CgScalars>& cg(const Field& x) {
  return held<steps::CgScalars>(x, {.z2 = 1, .r2 = 1, .alpha = 1e-3, .beta = 0.5});
}
blas::ResidentScalars<steps::BicgstabScalars>& bicgstab(const Field& x) {
  return held<steps::BicgstabScalars>(
      x, {.rho = {1, 0}, .r2 = 1, .r0_norm2 = 1, .alpha = {1e-3, 0}, .omega = {1e-3, 0}, .beta = {0.5, 0}});
}

blas::ResidentScalars<steps::MrScalars>& mr(const Field& x) {
  return held<steps::MrScalars>(x, {.omega = 1e-3, .alpha = {1e-3, 0}});
}

std::array<const Field*, 4> first_four(const Fields& f) { return {f[0], f[1], f[2], f[3]}; }
std::array<Complex, 4> dots;

/// Coefficients that neither grow nor vanish over many calls.
const std::vector<Operation>& operations() {
  static const Complex w{0.6, 0.8};
  static const std::vector<Operation> all = {
      {[](const Fields& f) { blas::zero(*f[0]); }},
      {[](const Fields& f) { blas::copy(*f[0], *f[1]); }},
      {[](const Fields& f) { blas::scale(-1, *f[0]); }},
      {[](const Fields& f) { blas::axpy(1e-3, *f[0], *f[1]); }},
      {[](const Fields& f) { blas::xpay(*f[0], 0.5, *f[1]); }},
      {[](const Fields& f) { blas::caxpy(1e-3 * w, *f[0], *f[1]); }},
      {[](const Fields& f) { blas::norm2(*f[0]); }, false},
      {[](const Fields& f) { blas::dot(*f[0], *f[1]); }, false},
      {[](const Fields& f) { blas::subtract_norm2(*f[0], *f[1]); }},
      {[](const Fields& f) { blas::axpy_norm2(1e-3, *f[0], *f[1]); }},
      {[](const Fields& f) { blas::axpy_xpay(1e-3, *f[0], *f[1], *f[2], 0.5); }},
      {[](const Fields& f) { blas::cxpay(*f[0], 0.5 * w, *f[1]); }},
      {[](const Fields& f) { steps::run(steps::CgAlpha{}, {f[0]}, cg(*f[0])); }, false},
      {[](const Fields& f) {
        steps::run(steps::CgResidual{}, {f[0], f[1]}, cg(*f[0]));
      }},
      {[](const Fields& f) { steps::run(steps::CgBeta{}, {f[0]}, cg(*f[0])); }, false},
      {[](const Fields& f) {
        steps::run(steps::CgUpdate{}, {f[0], f[1], f[2]}, cg(*f[0]));
      }},
      {[](const Fields& f) {
         steps::run(steps::BicgstabAlpha{}, {f[0], f[1]}, bicgstab(*f[0]));
       },
       false},
      {[](const Fields& f) {
        steps::run(steps::BicgstabHalfStep{}, {f[0], f[1]}, bicgstab(*f[0]));
      }},
      {[](const Fields& f) {
         steps::run(steps::BicgstabOmega{0}, {f[0], f[1], f[2]}, bicgstab(*f[0]));
       },
       false},
      {[](const Fields& f) {
        steps::run(steps::BicgstabUpdate{}, {f[0], f[1], f[2], f[3], f[4]}, bicgstab(*f[0]));
      }},
      {[](const Fields& f) { blas::caxpy_norm2(1e-3 * w, *f[0], *f[1]); }},
      {[](const Fields& f) { blas::dots(first_four(f), *f[4], dots.data()); }, false},
      {[](const Fields& f) {
        blas::caxpys(std::array<Complex, 4>{1e-3, 2e-3, -1e-3, -2e-3}, first_four(f), *f[4]);
      }},
      {[](const Fields& f) {
         steps::run(steps::MrAlpha{}, {f[0], f[1]}, mr(*f[0]));
       },
       false},
      {[](const Fields& f) {
        steps::run(steps::MrUpdate{}, {f[0], f[1], f[2]}, mr(*f[0]));
      }},
      {[](const Fields& f) {
        steps::run(steps::MrUpdateNorm2{}, {f[0], f[1], f[2]}, mr(*f[0]));
      }},
  };
  return all;
}

std::deque<Field> random_fields(const Bench& bench, Precision precision, int count) {
  Field gaussian(FieldDesc::spinor(bench.lattice, Subset::Even, Precision::Double, bench.backend));
  fill_gaussian(gaussian, 17);
  std::deque<Field> fields;
  for (int i = 0; i < count; ++i) {
    fields.emplace_back(FieldDesc::spinor(bench.lattice, Subset::Even, precision, bench.backend));
    convert(fields.back(), gaussian);
  }
  return fields;
}

}  // namespace

void measure_blas(const Bench& bench) {
  constexpr std::size_t sets = 4;
  for (Precision precision : bench.precisions()) {
    for (const auto& operation : operations()) {
      std::deque<Field> fields = random_fields(bench, precision, int(sets * most_fields));
      const auto call = [&](std::size_t set) {
        Fields chosen;
        for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = &fields[set * chosen.size() + i];
        operation.call(chosen);
      };
      const auto before = kernel_records();
      call(0);
      const KernelRecord record = kernel_records_since(before).front();               // its name and traffic
      Row row = bench.row(record.name.substr(0, record.name.rfind('_')), precision);  // "axpy_half"
      row.bytes_per_site = record.bytes_per_site;
      row.isa = record.isa;
      row.copies = operation.writes;
      std::size_t turn = 0;
      row.seconds = bench.time([&] { call(turn++ % sets); });
      bench.add(row);
    }
  }
}

}  // namespace quadrille::bench
