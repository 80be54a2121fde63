// The module mgemm: the task `matrix_product`; `matrix_product_study` is in study_task.h.
#include "modules/task.h"
#include "core/backend/backend.h"
#include "core/error.h"
#include "core/log.h"
#include "modules/hdf5_file.h"
#include "modules/mgemm/cleaver.h"
#include "modules/mgemm/mgemm.h"
#include "modules/mgemm/precision.h"
#include "modules/mgemm/study_task.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>

namespace quadrille::mgemm {
namespace {

using Json = nlohmann::ordered_json;

/// op(A) or op(B) of a job; rows one after the other.
struct Factor {
  Hdf5Array array;
  Transpose transpose;
  std::int64_t rows, columns;  ///< of op

  Factor(const TaskContext& context, const std::string& name)
      : array(Hdf5Reader(context.input_file(name + ".file")).read(context.text(name + ".dataset"), 2)),
        transpose(context.boolean(name + ".transpose") ? Transpose::yes : Transpose::no),
        rows(array.dims[transpose == Transpose::yes ? 1 : 0]),
        columns(array.dims[transpose == Transpose::yes ? 0 : 1]) {}
};

Gemm<double> product_of(const Factor& a, const Factor& b, double alpha, Hdf5Array& c) {
  if (a.columns != b.rows) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("op(B) must have {} rows, as op(A) has columns, has {}", a.columns, b.rows),
                      "b.file");
  }
  c.dims = {a.rows, b.columns};
  c.data.resize(std::size_t(a.rows * b.columns));
  Gemm<double> gemm;
  gemm.order = Order::rows;
  gemm.trans_a = a.transpose;
  gemm.trans_b = b.transpose;
  gemm.m = a.rows;
  gemm.n = gemm.ldc = b.columns;
  gemm.k = a.columns;
  gemm.alpha = alpha;
  gemm.a = a.array.data.data();
  gemm.lda = std::max<std::int64_t>(1, a.array.dims[1]);
  gemm.b = b.array.data.data();
  gemm.ldb = std::max<std::int64_t>(1, b.array.dims[1]);
  gemm.c = c.data.data();
  return gemm;
}

std::int64_t memory_cap(const TaskContext& context) { return context.integer("memory") << 20; }
CleaverOptions cleaver_options(const TaskContext& context) {
  return {memory_cap(context), &find_backend(context.backend())};
}

Json multiply_single(const TaskContext& context, const Gemm<double>& gemm, const Factor& a, const Factor& b) {
  const std::vector<float> left(a.array.data.begin(), a.array.data.end()),
      right(b.array.data.begin(), b.array.data.end());
  std::vector<float> c(std::size_t(gemm.m * gemm.n));
  Gemm<float> single{gemm.order,  gemm.trans_a, gemm.trans_b, gemm.m,   gemm.n, gemm.k,   float(gemm.alpha),
                     left.data(), gemm.lda,     right.data(), gemm.ldb, 0.0f,   c.data(), gemm.ldc};
  (void)cleaver(single, cleaver_options(context));
  std::copy(c.begin(), c.end(), gemm.c);
  return {{"form", "single"}};
}

Json multiply_mixed(const TaskContext& context, const PrecisionChoice& choice, const Gemm<double>& gemm) {
  MgemmOptions options;
  options.backend = &find_backend(context.backend());
  options.small_form = form_named(context.text("form"));
  options.memory_cap = memory_cap(context);
  options.always_split = choice.always_split;
  const MgemmReport report = mgemm(gemm, choice.cutoff, options);
  Json out = {{"form", to_string(report.form)}, {"reason", report.reason}};
  if (report.analysed) out.update({{"large_a", report.large_a}, {"large_b", report.large_b}});
  if (report.form == MgemmForm::split) {
    out.update({{"small_form", to_string(report.small_form)},
                {"delta", report.delta},
                {"depth", report.depth},
                {"bound", report.bound},
                {"probable_bound", report.probable_bound}});
    if (report.measured > 0) out["measured"] = report.measured;
  }
  return out;
}

void multiply(const TaskContext& context) {
  const PrecisionChoice choice = read_precision(context);
  const Factor a(context, "a"), b(context, "b");
  Hdf5Array c;
  const Gemm<double> gemm = product_of(a, b, context.real("alpha"), c);
  const auto began = std::chrono::steady_clock::now();
  Json out;
  switch (choice.precision) {
    case ProductPrecision::double_:
      (void)cleaver(gemm, cleaver_options(context));
      out["form"] = "double";
      break;
    case ProductPrecision::single: out = multiply_single(context, gemm, a, b); break;
    case ProductPrecision::mgemm: out = multiply_mixed(context, choice, gemm); break;
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  write_hdf5(context.output_file("c.file"), context.text("c.dataset"), c);
  const double flops = 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
  out.update({{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"seconds", seconds}, {"gflops", flops / seconds * 1e-9}});
  log().info("{}: {} x {} x {}, {}: {:.3g} s", context.task_name(), gemm.m, gemm.n, gemm.k,
             out["form"].get<std::string>(), seconds);
  context.result(out.dump());
}

quadrille_status run(const quadrille_host* host, quadrille_run* run, std::size_t task, void*) {
  return guarded(host, run, task == 0 ? multiply : run_study);
}

quadrille_status check(const quadrille_host* host, quadrille_run* run, std::size_t task) {
  if (task == 1) return guarded(host, run, check_study);
  return guarded(host, run, [](const TaskContext& context) {
    (void)read_precision(context);
    const auto sizes = [&](const std::string& name) {
      std::vector<std::int64_t> dims =
          Hdf5Reader(context.input_file(name + ".file")).dims(context.text(name + ".dataset"), 2);
      if (context.boolean(name + ".transpose")) std::swap(dims[0], dims[1]);
      return dims;
    };
    const std::vector<std::int64_t> a = sizes("a"), b = sizes("b");
    if (a[1] == b[0]) return;
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("op(B) must have {} rows, as op(A) has columns, has {}", a[1], b[0]), "b.file");
  });
}

constexpr quadrille_parameter file_in{
    .name = "file", .type = QUADRILLE_FILE_IN, .help = "an HDF5 file", .flags = QUADRILLE_REQUIRED};
constexpr quadrille_parameter transpose{
    .name = "transpose", .type = QUADRILLE_BOOLEAN, .help = "use the transpose", .default_text = "false"};
constexpr quadrille_parameter dataset(const char* name) {
  return {.name = "dataset", .type = QUADRILLE_TEXT, .help = "its matrix", .default_text = name};
}
constexpr quadrille_parameter a_members[] = {file_in, dataset("A"), transpose};
constexpr quadrille_parameter b_members[] = {file_in, dataset("B"), transpose};
constexpr quadrille_parameter c_members[] = {
    {.name = "file", .type = QUADRILLE_FILE_OUT, .help = "an HDF5 file", .flags = QUADRILLE_REQUIRED}, dataset("C")};

constexpr quadrille_parameter matrix(const char* name, const char* help, const quadrille_parameter* members,
                                     std::size_t count) {
  return {.name = name,
          .type = QUADRILLE_GROUP,
          .help = help,
          .flags = QUADRILLE_REQUIRED,
          .members = members,
          .member_count = count,
          .shorthand = "file"};
}

constexpr const char* forms[] = {"automatic", "single",  "half2",   "bfloat2", "bfloat3", "tensor_float2",
                                 "digits3",   "digits4", "digits5", "digits6", nullptr};
constexpr quadrille_parameter parameters[] = {
    matrix("a", "the left factor", a_members, std::size(a_members)),
    matrix("b", "the right factor", b_members, std::size(b_members)),
    matrix("c", "alpha op(A) op(B), written in double", c_members, std::size(c_members)),
    {.name = "alpha", .type = QUADRILLE_REAL, .help = "what the product is multiplied by", .default_text = "1"},
    precision_parameter,
    delta_parameter,
    target_error_parameter(
        "of mgemm: the largest absolute error of an element of op(A) op(B) that an automatic delta may "
        "make",
        nullptr, "1.0e-6"),
    assurance_parameter("certain"),
    {.name = "form",
     .type = QUADRILLE_CHOICE,
     .help = "of mgemm: how small elements are multiplied; a GPU has all forms, a CPU single, and automatic chooses",
     .default_text = "automatic",
     .choices = forms},
    always_split_parameter,
    {.name = "memory",
     .type = QUADRILLE_INTEGER,
     .help = "that panels may take, on a GPU of its own memory; 0: no limit",
     .unit = "MiB",
     .default_text = "0",
     .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM,
     .minimum = 0,
     .maximum = 1 << 30}};

constexpr quadrille_task tasks[] = {
    {.name = "matrix_product",
     .help = "the product of two matrices of HDF5 files, through limited memory or in mixed "
             "precision",
     .parameters = parameters,
     .parameter_count = std::size(parameters)},
    {.name = "matrix_product_study",
     .help = "speed and errors of mixed-precision products against OpenBLAS, on random matrices",
     .parameters = study_parameters,
     .parameter_count = study_parameter_count}};

constexpr quadrille_module module = module_of("mgemm", QUADRILLE_VERSION, tasks, check, run);

}  // namespace
}  // namespace quadrille::mgemm

extern "C" const quadrille_module* quadrille_module_mgemm(void) { return &quadrille::mgemm::module; }
