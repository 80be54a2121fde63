// A module that breaks the interface where its task's parameter says: exceptions leave its functions, its outputs have
// no names.
#include "modules/task.h"

#include <stdexcept>
#include <string>

namespace {

const char* const places[] = {"check", "outputs", "create", "run", "no exception", "destroy", "no name", nullptr};
const quadrille_parameter parameters[] = {
    {.name = "place", .type = QUADRILLE_CHOICE, .help = "what goes wrong", .default_text = "run", .choices = places},
    {.name = "save", .type = QUADRILLE_FILE_OUT, .help = "why outputs is called; never written"}};
const quadrille_task tasks[] = {
    {.name = "throwing_task", .help = "throws", .parameters = parameters, .parameter_count = 2}};

void maybe_throw(const std::string& chosen, const char* here) {
  if (chosen == here) throw std::runtime_error(std::string("thrown in ") + here);
}

std::string chosen(const quadrille_host* host, quadrille_run* run) {
  return quadrille::TaskContext(host, run).text("place");
}

quadrille_status create(const quadrille_host* host, quadrille_run* run, std::size_t, void** instance) {
  maybe_throw(chosen(host, run), "create");
  *instance = new std::string(chosen(host, run));
  return QUADRILLE_DONE;
}

quadrille_status check(const quadrille_host* host, quadrille_run* run, std::size_t) {
  maybe_throw(chosen(host, run), "check");
  return QUADRILLE_DONE;
}

quadrille_status run(const quadrille_host* host, quadrille_run* run, std::size_t, void*) {
  maybe_throw(chosen(host, run), "run");
  if (chosen(host, run) == "no exception") throw 42;
  return host->result(run, nullptr, R"({"done": true})");
}

void destroy(void* instance) {
  const std::string place = *static_cast<std::string*>(instance);
  delete static_cast<std::string*>(instance);
  maybe_throw(place, "destroy");
}

quadrille_status outputs(const quadrille_host* host, quadrille_run* run, std::size_t,
                         void (*add)(void* to, const char* name), void* to) {
  maybe_throw(chosen(host, run), "outputs");
  if (chosen(host, run) == "no name") add(to, nullptr);
  return QUADRILLE_DONE;
}

const quadrille_module module = {.abi_version = QUADRILLE_MODULE_ABI,
                                 .struct_size = sizeof(quadrille_module),
                                 .task_size = sizeof(quadrille_task),
                                 .parameter_size = sizeof(quadrille_parameter),
                                 .name = "throwing",
                                 .version = "0.1",
                                 .build_id = "",
                                 .tasks = tasks,
                                 .task_count = 1,
                                 .create = create,
                                 .check = check,
                                 .run = run,
                                 .destroy = destroy,
                                 .outputs = outputs};

}  // namespace

extern "C" QUADRILLE_API const quadrille_module* quadrille_module_descriptor() { return &module; }
