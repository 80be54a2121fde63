#include "modules/eigen/tasks/request.h"

#include "core/comm/agreement.h"

#include <fmt/format.h>

namespace quadrille::eigen {
namespace {

MatrixInput input_of(const TaskContext& context, const std::string& parameter, const std::string& name) {
  MatrixInput out;
  out.name = name;
  const auto path = [&](const char* member) { return parameter + "." + member; };
  const std::string half = context.text(path("triangle"));
  if (half != "both") out.triangle = half == "lower" ? Triangle::lower : Triangle::upper;
  if (context.has(path("file"))) {
    out.file = context.input_file(path("file"));
    out.dataset = context.text(path("dataset"));
    return out;
  }
  out.generated = context.text(path("generate"));
  if (!context.has(path("size"))) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "a generated matrix needs `size`, its number of rows", parameter);
  }
  out.size = context.integer(path("size"));
  out.seed = std::uint64_t(context.integer(path("seed")));
  out.generated_complex = context.boolean(path("complex"));
  return out;
}

Fraction fraction_of(const TaskContext& context) {
  return blamed("vectors", [&] {
    if (context.has("vectors.interval")) {
      const std::vector<double> ends = context.reals("vectors.interval");
      return Fraction::interval(ends[0], ends[1]);
    }
    if (context.has("vectors.count")) return Fraction::lowest(context.integer("vectors.count"));
    if (context.has("vectors.last")) {
      const std::int64_t first = context.has("vectors.first") ? context.integer("vectors.first") : 1;
      return Fraction::range(first, context.integer("vectors.last"));
    }
    if (context.has("vectors.first")) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, "needs `last`, too: the number of the last eigenvector", "vectors");
    }
    return context.has("vectors.which") && context.text("vectors.which") == "none" ? Fraction::none() : Fraction::all();
  });
}

MatrixHead shared_head(const Communicator& ranks, const MatrixInput& input, bool read_for_size) {
  MatrixHead head;
  on_first_rank(ranks, [&] { head = head_of(input, read_for_size); });
  ranks.broadcast(&head, sizeof head, 0);
  return head;
}

}  // namespace

Request request_of(const TaskContext& context, bool read_for_size, const Communicator& ranks) {
  Request out{input_of(context, "a", "A"), {}, fraction_of(context), {}};
  out.head = blamed("a", [&] { return shared_head(ranks, out.a, read_for_size); });
  if (context.has("b.file") || context.has("b.generate")) {
    out.b = input_of(context, "b", "B");
    const MatrixHead b = blamed("b", [&] { return shared_head(ranks, *out.b, read_for_size); });
    out.head.complex = out.head.complex || b.complex;
    if (out.head.n != 0 && b.n != 0 && out.head.n != b.n) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, fmt::format("A has {} rows, but B has {}", out.head.n, b.n), "b");
    }
  }
  if (out.head.n != 0) blamed("vectors", [&] { out.fraction.check(out.head.n); });
  return out;
}

}  // namespace quadrille::eigen
