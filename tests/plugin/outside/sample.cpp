// A module in C++ with a task that uses every kind of parameter and the library's fields.
#include "core/field.h"
#include "core/log.h"
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

const char* const moods[] = {"good", "bad input", "exception", "nothing said", "no JSON", nullptr};
const quadrille_parameter inside[] = {
    {"file", QUADRILLE_FILE_OUT, "where the sum goes", nullptr, nullptr, QUADRILLE_REQUIRED, 0, 0, nullptr, nullptr,
     nullptr, 0},
    {"digits", QUADRILLE_INTEGER, "of the sum", nullptr, "3", QUADRILLE_HAS_MINIMUM | QUADRILLE_HAS_MAXIMUM, 1, 17,
     nullptr, nullptr, nullptr, 0}};
const quadrille_parameter term[] = {{"term", QUADRILLE_REAL, "one term", "GeV", nullptr,
                                     QUADRILLE_HAS_MINIMUM | QUADRILLE_MINIMUM_OPEN, 0, 0, nullptr, nullptr, nullptr,
                                     0}};
const quadrille_parameter parameters[] = {
    {"terms", QUADRILLE_LIST, "to be added", nullptr, nullptr, QUADRILLE_REQUIRED, 0, 0, nullptr, nullptr, term, 1},
    {"negative", QUADRILLE_BOOLEAN, "change the sign", nullptr, "false", 0, 0, 0, nullptr, nullptr, nullptr, 0},
    {"mood", QUADRILLE_CHOICE, "what happens", nullptr, "good", 0, 0, 0, moods, nullptr, nullptr, 0},
    {"text", QUADRILLE_FILE_IN, "counted", nullptr, nullptr, 0, 0, 0, nullptr, nullptr, nullptr, 0},
    {"save", QUADRILLE_GROUP, "write the sum", nullptr, nullptr, 0, 0, 0, nullptr, nullptr, inside, 2}};
const quadrille_task tasks[] = {{"sample_sum", "adds numbers", parameters, 5}};

int instances = 0;

quadrille_status create(const quadrille_host*, quadrille_run*, void** instance) {
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

const quadrille_module module = {QUADRILLE_MODULE_ABI,
                                 sizeof(quadrille_module),
                                 sizeof(quadrille_task),
                                 sizeof(quadrille_parameter),
                                 "sample",
                                 "1.2",
                                 "from tests",
                                 tasks,
                                 1,
                                 create,
                                 check,
                                 run,
                                 destroy};

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
