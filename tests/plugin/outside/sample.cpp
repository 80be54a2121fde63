// A module in C++ with a task that uses every kind of parameter and the library's fields.
#include "core/field/field.h"
#include "core/system/log.h"
#include "dirac/registry.h"
#include "modules/loader.h"
#include "modules/task.h"
#include "solvers/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

namespace {

using quadrille::TaskContext;

const char* const moods[] = {"good", "bad input", "exception", "nothing said", "no JSON", "taken block", nullptr};
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
const quadrille_task tasks[] = {
    {.name = "sample_sum", .help = "adds numbers", .parameters = parameters, .parameter_count = 5}};

int instances = 0;

quadrille_status create(const quadrille_host*, quadrille_run*, size_t, void** instance) {
  ++instances;
  *instance = &instances;
  return QUADRILLE_DONE;
}
void destroy(void*) { --instances; }

quadrille_status check(const quadrille_host* host, quadrille_run* run, size_t) {
  return quadrille::guarded(host, run, [](const TaskContext& context) {
    if (context.reals("terms").size() > 4) {
      TaskContext::fail(QUADRILLE_INVALID_INPUT, "more than 4 terms are too many to add", "terms");
    }
  });
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
  if (mood == "taken block") context.result_in(context.has("text") ? "matrix_product_studies" : "solves", "{}");
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
  context.result(fmt::format(R"({{"sum": {}, "instances": {}, "pool_is_shared": {}, "backend": "{}", "threads": {}}})",
                             sum, instances, pool_is_shared(), context.backend(), context.threads()));
}

quadrille_status run(const quadrille_host* host, quadrille_run* run, size_t, void*) {
  bool silent = false;
  const quadrille_status status = quadrille::guarded(host, run, [&](const TaskContext& context) {
    silent = context.text("mood") == "nothing said";
    if (!silent) add(context);
  });
  return silent ? QUADRILLE_FAILED : status;
}

const quadrille_module module = {.abi_version = QUADRILLE_MODULE_ABI,
                                 .struct_size = sizeof(quadrille_module),
                                 .task_size = sizeof(quadrille_task),
                                 .parameter_size = sizeof(quadrille_parameter),
                                 .name = "sample",
                                 .version = "1.2",
                                 .build_id = "from tests",
                                 .tasks = tasks,
                                 .task_count = 1,
                                 .create = create,
                                 .check = check,
                                 .run = run,
                                 .destroy = destroy};

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
