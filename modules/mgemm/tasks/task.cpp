// The module mgemm: the task `matrix_product`; `matrix_product_study` is in study_task.h.
#include "modules/shared/plugin/task.h"
#include "core/backend/backend.h"
#include "core/error.h"
#include "core/system/log.h"
#include "modules/mgemm/choice/device_choice.h"
#include "modules/mgemm/choice/precision.h"
#include "modules/mgemm/product/cleaver.h"
#include "modules/mgemm/product/mgemm.h"
#include "modules/mgemm/tasks/study_task.h"
#include "modules/shared/hdf5/hdf5_file.h"
#include "modules/shared/plugin/parameters.h"
#include "modules/shared/study/take_turns.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace quadrille::mgemm {
namespace {

using namespace parameter;
using Json = nlohmann::ordered_json;

using Extents = std::vector<std::int64_t>;

/// op(A) or op(B) of a job; rows one after the other.
struct Factor {
  Hdf5Array array;
  Transpose transpose;

  Factor(const TaskContext& context, const std::string& name)
      : array(Hdf5Reader(context.input_file(name + ".file")).read(context.text(name + ".dataset"), 2)),
        transpose(context.boolean(name + ".transpose") ? Transpose::yes : Transpose::no) {}
};

Extents extents(const TaskContext& context, const std::string& name) {
  return Hdf5Reader(context.input_file(name + ".file")).dims(context.text(name + ".dataset"), 2);
}

/// Rows and columns of op(A) or op(B).
Extents factor_extents(const TaskContext& context, const std::string& name) {
  Extents dims = extents(context, name);
  if (context.boolean(name + ".transpose")) std::swap(dims[0], dims[1]);
  return dims;
}

/// `c_in` is there when, and only when, beta makes something of it.
void check_beta(const TaskContext& context) {
  const double beta = context.real("beta");
  if (beta != 0 && !context.has("c_in")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      fmt::format("beta is {:g} but there is no matrix C: give `c_in`, or beta: 0", beta), "beta");
  }
  if (beta == 0 && context.has("c_in")) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT,
                      "with beta 0, the default, C is not read: give another `beta`, or leave out `c_in`", "c_in");
  }
}

void check_extents(const TaskContext& context) {
  const Extents a = factor_extents(context, "a"), b = factor_extents(context, "b");
  if (a[1] != b[0]) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("op(A) has {} columns but op(B) has {} rows", a[1], b[0]),
                      "b.file");
  }
  if (!context.has("c_in")) return;
  const Extents c = extents(context, "c_in");
  if (c[0] == a[0] && c[1] == b[1]) return;
  TaskContext::fail(QUADRILLE_INVALID_INPUT,
                    fmt::format("op(A) op(B) is {} x {} but C is {} x {}", a[0], b[1], c[0], c[1]), "c_in.file");
}

/// A CPU has one form; while the backend is not known, all are right.
void check_form(const TaskContext& context) {
  const SmallForm form = form_named(context.text("form"));
  const std::string backend = context.backend();
  if (form == SmallForm::automatic || form == SmallForm::single || backend.empty()) return;
  if (!find_backend(backend).host_memory()) return;
  TaskContext::fail(
      QUADRILLE_UNSUPPORTED,
      fmt::format("{} needs the backend cuda; the backend {} has single and automatic", context.text("form"), backend),
      "form");
}

/// The same of a target that a sample is to keep.
void check_assurance(const TaskContext& context, const Cutoff& cutoff) {
  const std::string backend = context.backend();
  if (backend.empty() || find_backend(backend).host_memory()) return;
  try {
    require_no_sample(cutoff);
  } catch (const Error& error) {
    TaskContext::fail(QUADRILLE_UNSUPPORTED, error.message(), "assurance");
  }
}

void check_product(const TaskContext& context) {
  const PrecisionChoice choice = read_precision(context);
  if (choice.precision == ProductPrecision::mgemm) {
    check_form(context);
    check_assurance(context, choice.cutoff);
  }
  check_beta(context);
  check_extents(context);
}

/// C as it is read, and zeros where it is not.
Hdf5Array read_c(const TaskContext& context) {
  if (context.has("c_in")) return Hdf5Reader(context.input_file("c_in.file")).read(context.text("c_in.dataset"), 2);
  const std::int64_t rows = factor_extents(context, "a")[0], columns = factor_extents(context, "b")[1];
  return {{rows, columns}, std::vector<double>(std::size_t(rows * columns))};
}

/// The job's product; `c` is what it adds to and overwrites.
Gemm<double> product_of(const TaskContext& context, const Factor& a, const Factor& b, Hdf5Array& c) {
  const std::int64_t k = a.array.dims[a.transpose == Transpose::yes ? 0 : 1], n = c.dims[1];
  return {.order = Order::rows,
          .trans_a = a.transpose,
          .trans_b = b.transpose,
          .m = c.dims[0],
          .n = n,
          .k = k,
          .alpha = context.real("alpha"),
          .a = a.array.data.data(),
          .lda = std::max<std::int64_t>(1, a.array.dims[1]),
          .b = b.array.data.data(),
          .ldb = std::max<std::int64_t>(1, b.array.dims[1]),
          .beta = context.real("beta"),
          .c = c.data.data(),
          .ldc = n};
}

std::int64_t memory_cap(const TaskContext& context) { return context.integer("memory") << 20; }
Pause pause_of(const TaskContext& context) {
  return [&] { context.stop_if_asked(); };
}
CleaverOptions cleaver_options(const TaskContext& context) {
  return {memory_cap(context), &find_backend(context.backend()), pause_of(context)};
}

Json multiply_single(const TaskContext& context, const Gemm<double>& gemm, const Factor& a, const Factor& b) {
  const std::vector<float> left(a.array.data.begin(), a.array.data.end()),
      right(b.array.data.begin(), b.array.data.end());
  std::vector<float> c(gemm.c, gemm.c + gemm.m * gemm.n);
  Gemm<float> single{gemm.order,  gemm.trans_a, gemm.trans_b, gemm.m,   gemm.n,           gemm.k,   float(gemm.alpha),
                     left.data(), gemm.lda,     right.data(), gemm.ldb, float(gemm.beta), c.data(), gemm.ldc};
  const CleaverReport report = cleaver(single, cleaver_options(context));
  std::copy(c.begin(), c.end(), gemm.c);
  return {{"form", "single"}, {"panel_bytes", report.panel_bytes}};
}

Json multiply_mixed(const TaskContext& context, const PrecisionChoice& choice, const Gemm<double>& gemm) {
  MgemmOptions options;
  options.backend = &find_backend(context.backend());
  options.small_form = form_named(context.text("form"));
  options.memory_cap = memory_cap(context);
  options.always_split = choice.always_split;
  options.pause = pause_of(context);
  const MgemmReport report = mgemm(gemm, choice.cutoff, options);
  Json out = {{"form", to_string(report.form)}, {"reason", report.reason}, {"panel_bytes", report.panel_bytes}};
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

Json multiply_double(const TaskContext& context, const Gemm<double>& gemm) {
  const CleaverReport report = cleaver(gemm, cleaver_options(context));
  return {{"form", "double"}, {"panel_bytes", report.panel_bytes}};
}

void multiply(const TaskContext& context) {
  check_product(context);  // once more: files may have changed since the job was checked
  const PrecisionChoice choice = read_precision(context);
  const Factor a(context, "a"), b(context, "b");
  Hdf5Array c = read_c(context);
  const Gemm<double> gemm = product_of(context, a, b, c);
  const double began = now();
  Json out;
  switch (choice.precision) {
    case ProductPrecision::double_: out = multiply_double(context, gemm); break;
    case ProductPrecision::single: out = multiply_single(context, gemm, a, b); break;
    case ProductPrecision::mgemm: out = multiply_mixed(context, choice, gemm); break;
  }
  const double seconds = now() - began;
  write_hdf5(context.output_file("c.file"), context.text("c.dataset"), c);
  const double flops = 2.0 * double(gemm.m) * double(gemm.n) * double(gemm.k);
  out.update({{"m", gemm.m}, {"n", gemm.n}, {"k", gemm.k}, {"seconds", seconds}, {"gflops", flops / seconds * 1e-9}});
  log().info("{}: {} x {} x {}, {}: {:.3g} s", context.task_name(), gemm.m, gemm.n, gemm.k,
             out["form"].get<std::string>(), seconds);
  context.result(out.dump());
}

constexpr quadrille_parameter hdf5_in = required(file_in("file", "name of an HDF5 file"));
constexpr quadrille_parameter hdf5_out = required(file_out("file", "name of an HDF5 file"));
constexpr quadrille_parameter transpose = boolean("transpose", "use the transpose", "false");
constexpr quadrille_parameter dataset(const char* name) {
  return text("dataset", "name of the matrix in the file", name);
}
constexpr quadrille_parameter a_members[] = {hdf5_in, dataset("A"), transpose};
constexpr quadrille_parameter b_members[] = {hdf5_in, dataset("B"), transpose};
constexpr quadrille_parameter c_in_members[] = {hdf5_in, dataset("C")};
constexpr quadrille_parameter c_members[] = {hdf5_out, dataset("C")};

constexpr const char* forms[] = {"automatic", "single", "half2", "digits3", "digits4", "digits5", "digits6", nullptr};
constexpr quadrille_parameter parameters[] = {
    required(group("a", "the left factor", a_members, "file")),
    required(group("b", "the right factor", b_members, "file")),
    required(group("c", "alpha op(A) op(B) + beta C, written in double", c_members, "file")),
    group("c_in", "the C that is read; only if beta is not 0", c_in_members, "file"),
    real("alpha", "factor of the product", "1"),
    real("beta", "factor of the C in `c_in`", "0"),
    precision_parameter,
    delta_parameter,
    real("target_error",
         "for mgemm: the largest absolute error that an automatic delta may make in an element of op(A) op(B)",
         "1.0e-6", above(0)),
    choice("assurance",
           "how the target is kept: certain, by a bound on all rounding errors, which is far above them; probable, by "
           "a bound for independent errors; measured, by a sample of the product in double, on a CPU only",
           "certain", product_assurances),
    choice("form",
           "for mgemm: how small elements are multiplied; a GPU has all forms, a CPU only single; automatic chooses",
           "automatic", forms),
    always_split_parameter,
    memory("memory limit for panels (on a GPU, of its own memory); 0: no limit", "0", 0)};

constexpr quadrille_task tasks[] = {
    {.name = "matrix_product",
     .help = "the product of two matrices in HDF5 files, in limited memory or in mixed precision",
     .parameters = parameters,
     .parameter_count = std::size(parameters),
     .check = task_function<check_product>,
     .run = task_function<multiply>},
    {.name = "matrix_product_study",
     .help =
         "speed and errors of mixed-precision products of random matrices, compared with OpenBLAS (on a GPU cuBLAS)",
     .parameters = study_parameters,
     .parameter_count = study_parameter_count,
     .check = task_function<check_study>,
     .run = task_function<run_study>}};
constexpr const char* blocks[] = {"matrix_product_studies", nullptr};

constexpr quadrille_module module = module_of("mgemm", QUADRILLE_VERSION, tasks, blocks);

}  // namespace
}  // namespace quadrille::mgemm

extern "C" const quadrille_module* quadrille_module_mgemm(void) { return &quadrille::mgemm::module; }
