// Each call that needs memory for fields is refused it, at its first request, its second, and so on: the status and the
// message must say so each time, nothing is made, and at the end the call works. Prints the number of failures.
#include <quadrille.h>

#include <dlfcn.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

namespace {

thread_local long request = 0, refused = -1;  ///< counted within calls; the one that gets nothing

}  // namespace

/// In place of the C library's: the library takes the memory of fields with it.
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (refused >= 0 && request++ == refused) {
    errno = ENOMEM;
    return nullptr;
  }
  static const auto real = reinterpret_cast<void* (*)(std::size_t, std::size_t)>(dlsym(RTLD_NEXT, "aligned_alloc"));
  return real(alignment, bytes);
}

namespace {

using Call = std::function<quadrille_status()>;

/// Makes a handle, and destroys it where the call was right. What is null stays null where it was not.
template <class Handle, class Make>
Call made(Make make, quadrille_status (*destroy)(Handle*)) {
  return [=]() -> quadrille_status {
    Handle* handle = nullptr;
    const quadrille_status status = make(&handle);
    refused = -1;
    if (status == QUADRILLE_DONE) return destroy(handle);
    return handle == nullptr ? status : QUADRILLE_INTERNAL;
  };
}

}  // namespace

int main() {
  constexpr const char* words = "{type: wilson, mass: 1, boundary: [periodic, periodic, periodic, antiperiodic]}";
  constexpr const char* mixed = "{type: bicgstab, sloppy: {precision: half, temporal_gauge: true}}";
  quadrille_context* context = nullptr;
  quadrille_gauge* gauge = nullptr;
  quadrille_operator* op = nullptr;
  quadrille_solver* solver = nullptr;
  if (quadrille_context_create("{backend: cpu, threads: 1}", &context) != QUADRILLE_DONE ||
      quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 4], seed: 3}", &gauge) != QUADRILLE_DONE ||
      quadrille_operator_create(gauge, words, &op) != QUADRILLE_DONE ||
      quadrille_solver_create(op, "{type: cg}", &solver) != QUADRILLE_DONE) {
    std::puts(quadrille_message(nullptr));
    return 1;
  }
  std::vector<double> b(256 * 24, 1.0), x(b.size()), links(256 * 72);
  const void *from = b.data(), *from_links = links.data();
  void *to = x.data(), *to_links = links.data();
  (void)quadrille_gauge_to_memory(gauge, "{}", &to_links, 1);
  const auto solve = [&](const char* how) {
    return [&, how] { return quadrille_solver_solve(solver, how, &from, &to, 1, nullptr); };
  };
  const std::pair<const char*, Call> calls[] = {
      {"a start", made<quadrille_gauge>(
                      [&](auto** out) {
                        return quadrille_gauge_create(context, "{start: hot, dims: [4, 4, 4, 4], seed: 3}", out);
                      },
                      quadrille_gauge_destroy)},
      {"links", made<quadrille_gauge>(
                    [&](auto** out) {
                      return quadrille_gauge_from_memory(context, "{dims: [4, 4, 4, 4]}", &from_links, 1, out);
                    },
                    quadrille_gauge_destroy)},
      {"new links", [&] { return quadrille_gauge_update(gauge, "{}", &from_links, 1); }},
      {"operator", made<quadrille_operator>([&](auto** out) { return quadrille_operator_create(gauge, words, out); },
                                            quadrille_operator_destroy)},
      {"apply", [&] { return quadrille_operator_apply(op, QUADRILLE_M, "{}", &from, &to, 1); }},
      {"solver", made<quadrille_solver>([&](auto** out) { return quadrille_solver_create(op, mixed, out); },
                                        quadrille_solver_destroy)},
      {"solve", solve("{}")},
      {"normal system", solve("{system: m_dagger_m}")},
  };
  int failures = 0, wrong = 0;
  for (const auto& [name, call] : calls) {
    for (long which = 0;; ++which) {
      request = 0;
      refused = which;
      const quadrille_status status = call();
      refused = -1;
      if (status == QUADRILLE_DONE && request <= which) break;  // it asks for no more
      ++failures;
      if (status == QUADRILLE_NO_MEMORY && std::strlen(quadrille_message(nullptr)) > 0) continue;
      ++wrong;
      std::printf("%s, request %ld: %d, %s\n", name, which, int(status), quadrille_message(nullptr));
      if (wrong > 10) break;
    }
  }
  std::printf("%d failures, %d wrong\n", failures, wrong);
  return quadrille_context_destroy(context);
}
