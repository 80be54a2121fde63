// A module in C++ with a task that uses every kind of parameter and the library's fields.
#include "core/field/field.h"
#include "core/system/log.h"
#include "dirac/registry.h"
#include "modules/shared/plugin/loader.h"
#include "modules/shared/plugin/task.h"
#include "solvers/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace {

using quadrille::TaskContext;

const char* const moods[] = {"good", "bad input", "exception", "nothing said", "no JSON", "no memory", nullptr};
const quadrille_parameter inside[] = {
    {.name = "file", .type = QUADRILLE_FILE_OUT, .help = "where the sum goes", .flags = QUADRILLE_REQUIRED},
    {.name = "digits",
     .type = QUADRILLE_INTEGER,
     .help = "of the sum",
     .default_text = "3",
     .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM,
     .minimum = 1,
     .maximum = 17}};
const quadrille_parameter term[] = {{.name = "term",
                                     .type = QUADRILLE_REAL,
                                     .help = "one term",
                                     .unit = "GeV",
                                     .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN}};
const quadrille_parameter parameters[] = {
    {.name = "terms",
     .type = QUADRILLE_LIST,
     .help = "to be added",
     .flags = QUADRILLE_REQUIRED,
     .members = term,
     .member_count = 1},
    {.name = "negative", .type = QUADRILLE_BOOLEAN, .help = "change the sign", .default_text = "false"},
    {.name = "mood", .type = QUADRILLE_CHOICE, .help = "what happens", .default_text = "good", .choices = moods},
    {.name = "text", .type = QUADRILLE_FILE_IN, .help = "counted"},
    {.name = "save",
     .type = QUADRILLE_GROUP,
     .help = "write the sum",
     .members = inside,
     .member_count = 2,
     .shorthand = "file"}};
void check(const TaskContext& context) {
  if (context.reals("terms").size() > 4) {
    TaskContext::fail(QUADRILLE_INVALID_INPUT, "more than 4 terms are too many to add", "terms");
  }
}

/// A field lies in the one pool that the program counts.
bool pool_is_shared() {
  quadrille::Backend& pool = quadrille::cpu_backend();
  const std::size_t before = pool.allocated_bytes();
  const quadrille::Lattice lattice({4, 4, 4, 4});
  const quadrille::Field field(
      quadrille::FieldDesc::spinor(lattice, quadrille::Subset::Full, quadrille::Precision::Double));
  return pool.allocated_bytes() - before >= field.desc().bytes();
}

void add(const TaskContext& context) {
  const std::string mood = context.text("mood");
  if (mood == "bad input") TaskContext::fail(QUADRILLE_INVALID_INPUT, "the mood is bad", "mood");
  if (mood == "exception") throw std::runtime_error("thrown in a module");
  if (mood == "no JSON") context.result("[1, 2");
  if (mood == "no memory") quadrille::require_memory(1e30, "the sum");
  double sum = 0;
  for (const double x : context.reals("terms")) sum += x;
  if (context.boolean("negative")) sum = -sum;
  if (context.has("save")) {
    std::ofstream(context.output_file("save.file")) << fmt::format("{:.{}f}\n", sum, context.integer("save.digits"));
  }
  if (context.has("text")) {
    std::ifstream file(context.input_file("text"));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    context.result(fmt::format(R"({{"bytes": {}}})", text.size()));
  }
  context.warn("added with care");
  if (context.boolean("negative")) context.warn("added with care");
  context.progress("adding", 1);
  context.result(fmt::format(R"({{"sum": {}, "pool_is_shared": {}, "backend": "{}", "threads": {}}})", sum,
                             pool_is_shared(), context.backend(), context.threads()));
}

quadrille_status run(const quadrille_host* host, quadrille_run* run) {
  bool silent = false;
  const quadrille_status status = quadrille::guarded(host, run, [&](const TaskContext& context) {
    silent = context.text("mood") == "nothing said";
    if (!silent) add(context);
  });
  return silent ? QUADRILLE_FAILED : status;
}

// Every kind of parameter that a schema has, as a task reads it.
const char* const words[] = {"auto", "none", nullptr};
const char* const auto_only[] = {"auto", nullptr};
const char* const kinds[] = {"mesons", nullptr};
const quadrille_condition with_auto[] = {{.parameter = "delta", .values = auto_only}, {}};
const quadrille_parameter of_point[] = {{.name = "site", .type = QUADRILLE_INTEGER4, .flags = QUADRILLE_REQUIRED}};
const quadrille_parameter of_wall[] = {
    {.name = "time", .type = QUADRILLE_INTEGER, .default_text = "0", .flags = QUADRILLE_HAS_MINIMUM | QUADRILLE_EVEN}};
const quadrille_parameter sources[] = {
    {.name = "point", .type = QUADRILLE_GROUP, .help = "one site", .members = of_point, .member_count = 1},
    {.name = "wall", .type = QUADRILLE_GROUP, .help = "one slice", .members = of_wall, .member_count = 1}};
const quadrille_parameter of_row[] = {
    {.name = "weight", .type = QUADRILLE_REAL, .flags = QUADRILLE_REQUIRED},
    {.name = "delta", .type = QUADRILLE_NUMBER_OR_WORD, .default_text = "auto", .choices = words},
    {.name = "file", .type = QUADRILLE_FILE_IN}};
const quadrille_parameter row[] = {{.name = "row", .type = QUADRILLE_GROUP, .members = of_row, .member_count = 3}};
const quadrille_parameter schema_parameters[] = {
    {.name = "boundary",
     .type = QUADRILLE_BOUNDARY,
     .default_text = "[periodic, antiperiodic, periodic, {phase: 0.5}]"},
    {.name = "delta",
     .type = QUADRILLE_NUMBER_OR_WORD,
     .help = "a cutoff",
     .default_text = "auto",
     .flags = QUADRILLE_HAS_MINIMUM,
     .choices = words},
    {.name = "target", .type = QUADRILLE_REAL, .default_text = "0.5", .only_if = with_auto},
    {.name = "source",
     .type = QUADRILLE_VARIANT,
     .help = "where",
     .members = sources,
     .member_count = 2,
     .selector = "kind"},
    {.name = "rows", .type = QUADRILLE_LIST, .members = row, .member_count = 1, .most = 2},
    {.name = "from", .type = QUADRILLE_EARLIER_TASK, .help = "of mesons", .choices = kinds}};

void echo_schema(const TaskContext& context) {
  const std::string kind = context.has("source") ? context.text("source.kind") : "";
  std::string rows;
  for (std::size_t k = 0; k < context.count("rows"); ++k) {
    const std::string name = fmt::format("rows[{}].", k), word = context.word(name + "delta");
    const std::string delta = word.empty() ? fmt::format("{}", context.real(name + "delta")) : '"' + word + '"';
    rows += fmt::format("{}[{}, {}, {}]", k == 0 ? "" : ", ", context.real(name + "weight"), delta,
                        context.has(name + "file"));
  }
  const std::string word = context.word("delta");
  context.result(fmt::format(
      R"({{"boundary": {}, "word": "{}", "number": {}, "target": {}, "kind": "{}", "site": {}, "time": {}, "rows": [{}],
           "from": "{}", "boundary_count": {}}})",
      context.boundary("boundary"), word, word.empty() ? context.real("delta") : -1.0,
      context.has("target") ? context.real("target") : -1.0, kind,
      kind == "point" ? context.integer4("source.site") : std::array<int, 4>{},
      kind == "wall" ? context.integer("source.time") : -1, rows, context.has("from") ? context.text("from") : "",
      context.count("boundary")));
}

const quadrille_task tasks[] = {{.name = "sample_sum",
                                 .help = "adds numbers",
                                 .parameters = parameters,
                                 .parameter_count = std::size(parameters),
                                 .check = quadrille::task_function<check>,
                                 .run = run},
                                {.name = "sample_schema",
                                 .help = "gives its parameters back",
                                 .parameters = schema_parameters,
                                 .parameter_count = std::size(schema_parameters),
                                 .run = quadrille::task_function<echo_schema>}};

constexpr quadrille_module module = [] {
  quadrille_module filled = quadrille::module_of("sample", "1.2", tasks);
  filled.build_id = "from tests";
  return filled;
}();

}  // namespace

extern "C" QUADRILLE_API const quadrille_module* quadrille_module_descriptor() { return &module; }

/// For addresses.cpp.
extern "C" QUADRILLE_API void sample_addresses(const void** out) {
  out[0] = &quadrille::cpu_backend();
  out[1] = &quadrille::log();
  out[2] = &quadrille::operator_registry();
  out[3] = &quadrille::solver_registry();
  out[4] = &quadrille::modules();
}
