// two_threads_cpp ROUNDS: two threads, each with contexts of its own, make the same things at the same time; every
// solution must have the bits of the first. One OpenMP thread each, so that a sanitizer of threads sees all there is.
#include <quadrille.hpp>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

using Spinor = std::vector<double>;
std::atomic<int> said{0};

void count(void*, quadrille_log_level, const char*) { ++said; }
int go_on(void*, size_t, size_t, int, double) { return 0; }

/// What threads ask of the library first of all: lists that it makes once for the process.
std::string first_calls() {
  const quadrille::host::Context context("{backend: auto, threads: 1}");
  const char *schema = nullptr, *json = nullptr;
  quadrille::host::demand(quadrille_schema(context.get(), &schema));
  std::string text = schema;  // before the next call
  text += context.help("");
  const char* const job = "{run: [{task: generate, beta: 6, thermalization: 0}]}";  // no links: an error of the job
  if (quadrille_job_run(context.get(), nullptr, job, "nowhere", &json) != QUADRILLE_INVALID_INPUT) throw 1;
  return text;
}

Spinor solve(int round) {
  const quadrille::host::Context context("{backend: auto, threads: 1}");
  quadrille::host::demand(quadrille_context_set_log(context.get(), QUADRILLE_LOG_DEBUG, count, nullptr));
  quadrille::host::demand(quadrille_context_set_progress(context.get(), go_on, nullptr));
  const auto gauge = context.gauge("{start: hot, dims: [4, 4, 4, 4], seed: 5}");
  auto op = gauge.dirac("{type: wilson, mass: 0.2, boundary: [periodic, periodic, periodic, antiperiodic]}");
  auto solver = op.solver(round % 2 == 0 ? "{type: bicgstab, tolerance: 1e-10}" : "{type: cg, tolerance: 1e-10}");
  Spinor b(256 * 24), x(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(i * 7919 % 1009) - 504;
  (void)solver.solve("{}", b.data(), x.data());
  op.apply(QUADRILLE_M_DAGGER_M, "{sites: even_odd}", x.data(), b.data());
  (void)context.help("solver");
  (void)gauge.json();
  quadrille_solver* none = nullptr;
  if (quadrille_solver_create(op.get(), "{type: none}", &none) != QUADRILLE_INVALID_INPUT) throw 1;
  return x;
}

}  // namespace

int main(int count_of_words, char** words) {
  const int rounds = count_of_words > 1 ? std::atoi(words[1]) : 4;
  std::atomic<int> wrong{0};
  std::vector<std::string> texts(4);
  std::vector<std::thread> first;
  for (std::string& text : texts) first.emplace_back([&text] { text = first_calls(); });
  for (std::thread& thread : first) thread.join();
  for (const std::string& text : texts) wrong += text == texts[0] ? 0 : 1;
  const std::vector<Spinor> wanted = {solve(0), solve(1)};
  const auto work = [&] {
    for (int round = 0; round < rounds; ++round) {
      try {
        if (solve(round) != wanted[std::size_t(round % 2)]) ++wrong;
      } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ++wrong;
      }
    }
  };
  std::thread other(work);
  work();
  other.join();
  std::printf("%d rounds of two threads, %d wrong\n", rounds, wrong.load());
  return wrong == 0 ? 0 : 1;
}
