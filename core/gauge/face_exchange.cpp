#include "core/gauge/face_exchange.h"

#include "core/backend/backend.h"
#include "core/error.h"
#include "core/gauge/work/link_work.h"

#include <utility>
#include <vector>

namespace quadrille {
namespace {

constexpr std::size_t matrix_numbers = 18;
constexpr int time = 3, backward = 4;

}  // namespace

struct FaceExchange::Memory {
  Backend& backend;
  std::size_t bytes;
  void* data;

  Memory(Backend& b, std::size_t n) : backend(b), bytes(n), data(b.allocate(n)) {}
  ~Memory() { backend.release(data, bytes); }
  Memory(const Memory&) = delete;
};

FaceExchange::FaceExchange(const Lattice& lattice, Backend& backend) : lattice_(lattice), backend_(backend) {
  for (int mu = 0; mu < 4; ++mu) edges_.split[mu] = lattice.communicator().splits(mu);
  edges_.last_time = lattice.communicator().at_edge(time);
}

// The caller's calls of the backend may not be done yet.
FaceExchange::~FaceExchange() {
  try {
    if (!memory_.empty()) backend_.synchronize();
  } catch (const Error&) {  // a fatal error of a device, which the next call there reports
  }
}

double* FaceExchange::allocate(std::size_t numbers) {
  memory_.push_back(std::make_unique<Memory>(backend_, numbers * sizeof(double)));
  return static_cast<double*>(memory_.back()->data);
}

std::size_t FaceExchange::face_numbers(int mu) const {
  return std::size_t(lattice_.volume() / lattice_.dims()[std::size_t(mu)]) * matrix_numbers;
}

void FaceExchange::exchange(int direction, const double* mine, double* theirs, std::size_t numbers) {
  const std::size_t bytes = numbers * sizeof(double);
  if (backend_.host_memory()) return lattice_.communicator().exchange({{direction, mine, theirs, bytes}});
  std::vector<double> send(numbers), receive(numbers);
  backend_.copy_out(send.data(), mine, bytes);
  lattice_.communicator().exchange({{direction, send.data(), receive.data(), bytes}});
  backend_.copy_in(theirs, receive.data(), bytes);
}

LinkEdges FaceExchange::beyond(const LinkView& links, int matrices) {
  edges_.matrices = matrices;
  for (int mu = 0; mu < 4; ++mu) {
    if (!edges_.split[mu]) continue;
    const std::size_t numbers = face_numbers(mu) * std::size_t(matrices);
    double *const mine = allocate(numbers), *const theirs = allocate(numbers);
    link_work(backend_).first_face(mine, links, matrices, mu);
    exchange(mu + backward, mine, theirs, numbers);
    edges_.beyond[mu] = theirs;
  }
  return edges_;
}

void FaceExchange::copy(const LinkView& to, const LinkView& from, const LinkView* g) {
  const LinkEdges edges = g != nullptr ? beyond(*g, 1) : edges_;
  const LinkWork& work = link_work(backend_);
  work.copy(to, from, g, edges);
  for (int mu = 0; mu < 4; ++mu) {
    if (!edges.split[mu] || !to.holds(2 * mu + 1)) continue;
    const std::size_t numbers = face_numbers(mu);
    double *const mine = allocate(numbers), *const theirs = allocate(numbers);
    work.leaving(mine, from, g, edges, mu);
    exchange(mu, mine, theirs, numbers);
    work.entering(to, theirs, mu);
  }
}

void FaceExchange::add_transported(const LinkView& to, const LinkView& from, const LinkView& links, int mu) {
  const LinkWork& work = link_work(backend_);
  const double* face = nullptr;
  if (edges_.split[mu]) {
    const std::size_t numbers = face_numbers(mu);
    double *const mine = allocate(numbers), *const theirs = allocate(numbers);
    work.transported_face(mine, from, links, mu);
    exchange(mu, mine, theirs, numbers);
    face = theirs;
  }
  work.add_transported(to, from, links, face, mu);
}

bool FaceExchange::fix_time(const LinkView& g, const LinkView& links) {
  const Communicator& communicator = lattice_.communicator();
  const LinkWork& work = link_work(backend_);
  if (!edges_.split[time]) {
    double failed = work.fix_time(g, links, true, nullptr) ? 0 : 1;
    communicator.maximum(&failed, 1);
    return failed == 0;
  }
  // Ranks along t take turns: each does its lines once those of the one before it have come.
  const std::size_t numbers = face_numbers(time);
  double *lines = allocate(numbers), *coming = allocate(numbers);
  backend_.copy_in(lines, std::vector<double>(numbers).data(), numbers * sizeof(double));
  double failed = 0;
  for (int turn = 0; turn < communicator.grid()[time]; ++turn) {
    if (turn > 0) exchange(time, lines, coming, numbers);
    if (communicator.coordinates()[time] != turn) continue;
    if (turn > 0) std::swap(lines, coming);
    failed = work.fix_time(g, links, turn == 0, lines) ? 0 : 1;
  }
  communicator.maximum(&failed, 1);
  return failed == 0;
}

}  // namespace quadrille
