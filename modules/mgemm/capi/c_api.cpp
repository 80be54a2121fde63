#include "modules/mgemm/capi/c_api.h"

#include "core/backend/backend.h"
#include "core/backend/of_backend.h"
#include "modules/mgemm/device.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/mgemm.h"
#include "modules/shared/plugin/c_calls.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace {

namespace mg = quadrille::mgemm;
using quadrille::c_calls::refuse;

thread_local std::string last_message;

template <class Call>
quadrille_status guarded(const char* name, Call call) noexcept {
  return quadrille::c_calls::guarded(last_message, name, call, "; give a memory cap");
}

mg::Order order_of(char letter) {
  if (letter == 'C' || letter == 'c') return mg::Order::columns;
  if (letter == 'R' || letter == 'r') return mg::Order::rows;
  refuse(std::string("order = '") + letter + "': it must be 'C' (columns) or 'R' (rows)");
}

mg::Transpose transpose_of(const char* name, char letter) {
  if (letter == 'N' || letter == 'n') return mg::Transpose::no;
  if (letter == 'T' || letter == 't' || letter == 'C' || letter == 'c') return mg::Transpose::yes;
  refuse(std::string(name) + " = '" + letter + "': it must be 'N' (as it is) or 'T' (transposed)");
}

quadrille::Backend* backend_named(const char* name) {
  return name == nullptr ? nullptr : &quadrille::find_backend(name);
}

mg::MgemmReport multiply_with(const quadrille_mgemm_options& given, const mg::Gemm<double>& gemm) {
  mg::MgemmOptions options;
  options.memory_cap = given.memory_cap;
  options.depth = given.depth;
  options.always_split = given.always_split != 0;
  if (given.form != nullptr) options.small_form = mg::form_named(given.form);
  const mg::Assurance assurance = given.measured == 0   ? mg::Assurance::certain
                                  : given.measured == 1 ? mg::Assurance::measured
                                                        : mg::Assurance::probable;
  const mg::Cutoff cutoff =
      given.target_error > 0 ? mg::Cutoff::for_error(given.target_error, assurance) : mg::Cutoff::at(given.delta);
  if (given.on_device == 0) {
    options.backend = backend_named(given.backend);
    const quadrille::c_calls::Work work(options.backend == nullptr ? quadrille::cpu_backend() : *options.backend);
    return mg::mgemm(gemm, cutoff, options);
  }
  quadrille::Backend& backend = quadrille::find_backend(given.backend == nullptr ? "cuda" : given.backend);
  if (backend.host_memory()) {
    refuse("on_device = 1 needs the backend cuda, not " + backend.name());
  }
  const quadrille::c_calls::Work work(backend);
  const mg::MgemmReport report =
      quadrille::with_cuda<mg::MgemmReport>([&](auto) { return mg::mgemm_on_device(gemm, cutoff, options); });
  backend.synchronize();
  return report;
}

void fill(const mg::MgemmReport& from, quadrille_mgemm_report* to) {
  if (to == nullptr) return;
  quadrille_mgemm_report out{};
  out.struct_size = to->struct_size;
  out.split = from.form == mg::MgemmForm::split ? 1 : 0;
  out.analysed = from.analysed ? 1 : 0;
  out.delta = from.delta;
  out.depth = from.depth;
  out.large_a = from.large_a;
  out.large_b = from.large_b;
  out.bound = from.bound;
  out.probable_bound = from.probable_bound;
  out.measured = from.measured;
  out.expected_speedup = from.expected_speedup;
  out.panel_bytes = from.panel_bytes;
  std::copy_n(from.reason.data(), std::min(from.reason.size(), sizeof(out.reason) - 1), out.reason);
  std::memcpy(to, &out, out.struct_size);
}

}  // namespace

extern "C" {

quadrille_status quadrille_mgemm(const quadrille_mgemm_options* options, char order, char trans_a, char trans_b,
                                 int64_t m, int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
                                 const double* b, int64_t ldb, double beta, double* c, int64_t ldc,
                                 quadrille_mgemm_report* report) {
  return guarded("quadrille_mgemm", [&] {
    quadrille::c_calls::demand(options, "options");
    if (report != nullptr &&
        (report->struct_size < sizeof report->struct_size || report->struct_size > sizeof *report)) {
      refuse("report: struct_size = " + std::to_string(report->struct_size) + ": it must be the size of the struct, " +
             std::to_string(sizeof *report) + " in this version");
    }
    fill(multiply_with(quadrille::c_calls::known_options(options),
                       {order_of(order), transpose_of("trans_a", trans_a), transpose_of("trans_b", trans_b), m, n, k,
                        alpha, a, lda, b, ldb, beta, c, ldc}),
         report);
  });
}

quadrille_status quadrille_cleaver_double(const char* backend, char order, char trans_a, char trans_b, int64_t m,
                                          int64_t n, int64_t k, double alpha, const double* a, int64_t lda,
                                          const double* b, int64_t ldb, double beta, double* c, int64_t ldc,
                                          int64_t memory_cap) {
  return guarded("quadrille_cleaver_double", [&] {
    quadrille::Backend* const there = backend_named(backend);
    const quadrille::c_calls::Work work(there == nullptr ? quadrille::cpu_backend() : *there);
    mg::cleaver(mg::Gemm<double>{order_of(order), transpose_of("trans_a", trans_a), transpose_of("trans_b", trans_b), m,
                                 n, k, alpha, a, lda, b, ldb, beta, c, ldc},
                {memory_cap, there});
  });
}

quadrille_status quadrille_cleaver_single(const char* backend, char order, char trans_a, char trans_b, int64_t m,
                                          int64_t n, int64_t k, float alpha, const float* a, int64_t lda,
                                          const float* b, int64_t ldb, float beta, float* c, int64_t ldc,
                                          int64_t memory_cap) {
  return guarded("quadrille_cleaver_single", [&] {
    quadrille::Backend* const there = backend_named(backend);
    const quadrille::c_calls::Work work(there == nullptr ? quadrille::cpu_backend() : *there);
    mg::cleaver(mg::Gemm<float>{order_of(order), transpose_of("trans_a", trans_a), transpose_of("trans_b", trans_b), m,
                                n, k, alpha, a, lda, b, ldb, beta, c, ldc},
                {memory_cap, there});
  });
}

const char* quadrille_mgemm_message(void) { return last_message.c_str(); }

}  // extern "C"
