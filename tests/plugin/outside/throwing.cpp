// A module that breaks the interface where its task's parameter says: exceptions leave its functions, its outputs have
// no names, it calls the host from a thread of its own.
#include "modules/shared/plugin/task.h"

#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

const char* const places[] = {"check", "outputs", "run", "no exception", "no name", "thread", "no memory", nullptr};
const quadrille_parameter parameters[] = {
    {.name = "place", .type = QUADRILLE_CHOICE, .help = "what goes wrong", .default_text = "run", .choices = places},
    {.name = "save", .type = QUADRILLE_FILE_OUT, .help = "why outputs is called; never written"}};
void maybe_throw(const std::string& chosen, const char* here) {
  if (chosen == here) throw std::runtime_error(std::string("thrown in ") + here);
}

std::string chosen(const quadrille_host* host, quadrille_run* run) {
  return quadrille::TaskContext(host, run).text("place");
}

quadrille_status check(const quadrille_host* host, quadrille_run* run) {
  maybe_throw(chosen(host, run), "check");
  return QUADRILLE_DONE;
}

quadrille_status run(const quadrille_host* host, quadrille_run* run) {
  const std::string place = chosen(host, run);
  maybe_throw(place, "run");
  if (place == "no exception") throw 42;
  if (place == "no memory") throw std::bad_alloc();
  if (place == "thread") {
    quadrille_context* context = nullptr;
    quadrille_gauge* links = nullptr;
    quadrille_status with_handles = host->context(run, &context);
    std::thread([&] {
      with_handles = host->functions->gauge_create(context, "{start: cold, dims: [2, 2, 2, 2]}", &links);
    }).join();
    if (with_handles != QUADRILLE_INVALID_INPUT) return QUADRILLE_DONE;
    double fraction = 0;
    std::thread([&] { fraction = host->has(run, "place") + int(host->real(run, "place", 0, &fraction)); }).join();
    if (fraction != double(QUADRILLE_FAILED)) return QUADRILLE_DONE;
  }
  return host->result(run, nullptr, R"({"done": true})");
}

quadrille_status outputs(const quadrille_host* host, quadrille_run* run, void (*add)(void* to, const char* name),
                         void* to) {
  maybe_throw(chosen(host, run), "outputs");
  if (chosen(host, run) == "no name") add(to, nullptr);
  return QUADRILLE_DONE;
}

const quadrille_task tasks[] = {{.name = "throwing_task",
                                 .help = "throws",
                                 .parameters = parameters,
                                 .parameter_count = 2,
                                 .check = check,
                                 .run = run,
                                 .outputs = outputs}};

constexpr quadrille_module module = quadrille::module_of("throwing", "0.1", tasks);

}  // namespace

extern "C" QUADRILLE_API const quadrille_module* quadrille_module_descriptor() { return &module; }
