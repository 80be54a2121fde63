// threads_on_ranks_cpp multiple|funneled, under mpirun: with MPI_THREAD_MULTIPLE two threads of each rank solve at the
// same time in contexts of their own communicators, and every solution has the bits of the first; with
// MPI_THREAD_FUNNELED a thread that did not begin MPI is refused.
#include <mpi.h>
#include <quadrille.hpp>

#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

namespace {

using Spinor = std::vector<double>;
using quadrille::host::Context;
const char* const one_thread = "{threads: 1, grid: [1, 1, 1, 2]}";
const char* const start = "{start: hot, dims: [4, 4, 4, 8], seed: 5}";

Spinor solve(const Context& context) {
  const auto gauge = context.gauge(start);
  auto solver = gauge.dirac("{type: wilson, mass: 0.2, boundary: [periodic, periodic, periodic, antiperiodic]}")
                    .solver("{type: bicgstab, tolerance: 1e-10, sloppy: {precision: single}}");
  Spinor b(256 * 24), x(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = double(i * 7919 % 1009) - 504;
  (void)solver.solve("{}", b.data(), x.data());
  (void)gauge.plaquettes();
  return x;
}

/// The number of solutions that are not as they are alone.
int at_the_same_time() {
  MPI_Comm one = MPI_COMM_NULL, two = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &one);
  MPI_Comm_dup(MPI_COMM_WORLD, &two);
  std::atomic<int> wrong{0};
  {
    const Context first(one_thread, one), second(one_thread, two);
    const Spinor wanted = solve(first);
    const auto work = [&](const Context& context) {
      for (int round = 0; round < 4; ++round) {
        try {
          if (solve(context) != wanted) ++wrong;
        } catch (const std::exception& error) {
          std::fprintf(stderr, "%s\n", error.what());
          ++wrong;
        }
      }
    };
    std::thread other([&] { work(second); });
    work(first);
    other.join();
  }
  MPI_Comm_free(&one);
  MPI_Comm_free(&two);
  return wrong;
}

std::string refused() {
  const Context context(one_thread, MPI_COMM_WORLD);
  const auto gauge = context.gauge(start);
  std::string why;
  std::thread([&] {
    try {
      (void)gauge.plaquettes();
    } catch (const quadrille::host::Failure& failure) {
      if (failure.status() == QUADRILLE_INVALID_INPUT) why = failure.what();
    }
    if (quadrille_gauge_destroy(gauge.get()) != QUADRILLE_INVALID_INPUT) why.clear();
    if (quadrille_context_destroy(context.get()) != QUADRILLE_INVALID_INPUT) why.clear();
  }).join();
  (void)gauge.plaquettes();  // and it goes on here
  return why.empty() ? "not refused" : why;
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) return 2;
  const bool multiple = words[1] == std::string("multiple");
  int there = 0, rank = 0;
  MPI_Init_thread(&count, &words, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED, &there);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::string said;
  if (!multiple) {
    said = refused();
  } else {
    said = there < MPI_THREAD_MULTIPLE ? "no threads here" : std::to_string(at_the_same_time()) + " wrong";
  }
  if (rank == 0 || said == "not refused") std::printf("%s\n", said.c_str());
  MPI_Finalize();
  return 0;
}
