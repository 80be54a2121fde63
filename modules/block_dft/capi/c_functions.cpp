// Functions of matrices for C.
#include "modules/block_dft/capi/c_api.h"
#include "modules/block_dft/capi/c_objects.h"
#include "modules/block_dft/functions/named_function.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace {

namespace block_dft = quadrille::block_dft;
using block_dft::Given;
using block_dft::matrix_text;
using quadrille::c_calls::demand;
using quadrille::c_calls::refuse;

block_dft::FunctionOptions function_options(double eps, std::int32_t order, std::int32_t max_iterations) {
  if (max_iterations < 1) refuse(fmt::format("max_iterations = {}: it must be above 0", max_iterations));
  block_dft::FunctionOptions options;
  options.eps = eps;
  if (order != 0) options.order = order;
  options.max_iterations = max_iterations;
  return options;
}

void check_report(const quadrille_block_function_report* report) {
  if (report == nullptr || (report->struct_size >= 8 && report->struct_size <= sizeof *report)) return;
  refuse(fmt::format("report: struct_size = {}: it must be the size of the struct, {} in this version",
                     report->struct_size, sizeof *report));
}

/// As much of the report as the caller's version of the struct has.
void fill_report(quadrille_block_function_report* to, const block_dft::FunctionReport& from) {
  if (to == nullptr) return;
  const quadrille_block_function_report all{to->struct_size, from.iterations, from.residual, from.occupation,
                                            from.condition,  from.flops,      from.bound};
  std::memcpy(to, &all, to->struct_size);
}

}  // namespace

extern "C" {

quadrille_status quadrille_block_function(const quadrille_block_matrix* a_handle, const char* function, double eps,
                                          int32_t order, int32_t max_iterations, quadrille_block_matrix** f,
                                          quadrille_block_function_report* report) {
  std::string doubt;
  quadrille_status doubtful = QUADRILLE_INACCURATE;
  const quadrille_status status = block_dft::guarded("quadrille_block_function", [&] {
    const Given a(a_handle, "a");
    block_dft::Function which{};
    block_dft::FunctionOptions options;
    block_dft::together(
        block_dft::home_of({&a}),
        fmt::format("quadrille_block_function with {}, eps = {}, order = {}, max_iterations = {} and A {}",
                    function == nullptr ? "" : function, eps, order, max_iterations, matrix_text(a.object())),
        [&] {
          a.check();
          demand(function, "function");
          demand(f, "f");
          check_report(report);
          which = block_dft::function_named(function);
          options = function_options(eps, order, max_iterations);
        });
    auto found = block_dft::function_of(a.matrix(), which, options);
    fill_report(report, found.report);
    doubt = block_dft::function_doubts(which, found.report, eps);
    if (!found.report.converged) doubtful = QUADRILLE_NOT_CONVERGED;
    *f = block_dft::new_matrix(a.home(), std::move(found.matrix));
  });
  if (status != QUADRILLE_DONE || doubt.empty()) return status;
  return block_dft::keep_message(doubtful, "quadrille_block_function", doubt);
}

quadrille_status quadrille_block_function_check(const quadrille_block_matrix* f_handle,
                                                const quadrille_block_matrix* a_handle, const char* function,
                                                double eps, double* residual, double* commutation) {
  return block_dft::guarded("quadrille_block_function_check", [&] {
    const Given f(f_handle, "f"), a(a_handle, "a");
    block_dft::Function which{};
    block_dft::together(
        block_dft::home_of({&f, &a}),
        fmt::format("quadrille_block_function_check with {}, eps = {}, F {} and A {}",
                    function == nullptr ? "" : function, eps, matrix_text(f.object()), matrix_text(a.object())),
        [&] {
          f.check();
          a.check();
          demand(function, "function");
          demand(residual, "residual");
          which = block_dft::function_named(function);
          if (!(eps >= 0)) refuse(fmt::format("eps = {}: it must not be negative", eps));
        });
    const block_dft::FunctionCheck found = block_dft::check_function(f.matrix(), a.matrix(), which, eps);
    *residual = found.residual;
    if (commutation != nullptr) *commutation = found.commutation.value_or(std::numeric_limits<double>::quiet_NaN());
  });
}

}  // extern "C"
