// Ranks of MPI: the whole of libquadrille_ranks.so but for NCCL.
#include "core/comm/nccl/nccl_links.h"
#include "core/comm/ranks.h"
#include "core/error.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace quadrille {
namespace {

void check(int status, const char* what) {
  if (status == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(status, text, &length);
  throw Error(ErrorCode::internal, fmt::format("MPI: {}: {}", what, std::string(text, std::size_t(length))));
}

bool has_ended() {
  int ended = 0;
  return MPI_Finalized(&ended) != MPI_SUCCESS || ended != 0;
}

void release(MPI_Comm& comm) {
  if (comm != MPI_COMM_NULL && !has_ended()) MPI_Comm_free(&comm);
}

constexpr std::size_t most = std::size_t(1) << 30;  ///< bytes of one message: MPI counts in int

/// Persistent requests; of a long message one for each GiB.
class MpiChannel final : public Channel {
 public:
  MpiChannel(MPI_Comm comm, const std::vector<Message>& messages, const std::vector<std::pair<int, int>>& to_from)
      : comm_(comm) {
    for (std::size_t k = 0; k < messages.size(); ++k) {
      const Message& m = messages[k];
      for (std::size_t at = 0; at < m.bytes; at += most) {
        const int bytes = int(std::min(most, m.bytes - at)), tag = m.direction + 8 * int(at / most);
        if (m.receive != nullptr) receive(static_cast<char*>(m.receive) + at, bytes, to_from[k].second, tag);
        if (m.send != nullptr) send(static_cast<const char*>(m.send) + at, bytes, to_from[k].first, tag);
      }
    }
  }
  MpiChannel(MPI_Comm comm, const std::vector<Piece>& sent, const std::vector<Piece>& received) : comm_(comm) {
    // Two ranks count their pieces alike, so that each part has a number of its own between them.
    constexpr int first_tag = 4096;  // behind those of neighbours; MPI has 32768 at least
    const auto each_part = [](const std::vector<Piece>& pieces, auto&& body) {
      std::map<int, int> parts;
      for (const Piece& piece : pieces) {
        for (std::size_t at = 0; at < piece.bytes; at += most) {
          body(static_cast<char*>(piece.memory) + at, int(std::min(most, piece.bytes - at)), piece.rank,
               first_tag + parts[piece.rank]++);
        }
      }
    };
    each_part(received, [&](void* to, int bytes, int rank, int tag) { receive(to, bytes, rank, tag); });
    each_part(sent, [&](const void* from, int bytes, int rank, int tag) { send(from, bytes, rank, tag); });
  }
  ~MpiChannel() override {
    if (has_ended()) return;
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
  }
  void start() override {
    if (requests_.empty()) return;
    check(MPI_Startall(int(requests_.size()), requests_.data()), "starting an exchange");
  }
  void push() override {
    int done = 0;
    if (requests_.empty()) return;
    check(MPI_Testall(int(requests_.size()), requests_.data(), &done, MPI_STATUSES_IGNORE), "pushing an exchange");
  }
  void finish() override {
    if (requests_.empty()) return;
    check(MPI_Waitall(int(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE), "finishing an exchange");
  }

 private:
  void receive(void* to, int bytes, int rank, int tag) {
    check(MPI_Recv_init(to, bytes, MPI_BYTE, rank, tag, comm_, &requests_.emplace_back(MPI_REQUEST_NULL)),
          "receiving from another rank");
  }
  void send(const void* from, int bytes, int rank, int tag) {
    check(MPI_Send_init(from, bytes, MPI_BYTE, rank, tag, comm_, &requests_.emplace_back(MPI_REQUEST_NULL)),
          "sending to another rank");
  }

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

/// The links between the devices of all ranks, which communicators for different grids share.
struct LinksOfRanks {
  bool asked = false;
  std::shared_ptr<DeviceLinks> links;
  std::string reason;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(MPI_Comm of, const Dims& grid, std::shared_ptr<LinksOfRanks> links)
      : grid_(grid), links_(std::move(links)) {
    check(MPI_Comm_dup(of, &comm_), "making a communicator");
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    int rest = rank_;
    for (std::size_t mu = 0; mu < 4; ++mu) {
      coordinates_[mu] = rest % grid[mu];
      rest /= grid[mu];
    }
  }
  ~MpiCommunicator() override { release(comm_); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  const Dims& grid() const override { return grid_; }
  const Dims& coordinates() const override { return coordinates_; }
  void gather(const void* mine, std::size_t bytes, void* all) const override {
    if (bytes > most) throw Error(ErrorCode::internal, "MPI: cannot gather more than 1 GiB from each rank");
    check(MPI_Allgather(mine, int(bytes), MPI_BYTE, all, int(bytes), MPI_BYTE, comm_), "gathering from all ranks");
  }
  void broadcast(void* data, std::size_t bytes, int root) const override {
    for (std::size_t at = 0; at < bytes; at += most)
      check(MPI_Bcast(static_cast<char*>(data) + at, int(std::min(most, bytes - at)), MPI_BYTE, root, comm_),
            "sending to all ranks");
  }
  void barrier() const override { check(MPI_Barrier(comm_), "waiting for all ranks"); }
  std::optional<int> fortran_number() const override { return int(MPI_Comm_c2f(comm_)); }
  std::unique_ptr<Channel> channel(std::vector<Message> messages) const override {
    std::vector<std::pair<int, int>> to_from;
    for (const Message& m : messages)
      to_from.emplace_back(neighbour(m.direction), neighbour(opposite_direction(m.direction)));
    return std::make_unique<MpiChannel>(comm_, messages, to_from);
  }
  std::unique_ptr<Channel> channel(const std::vector<Piece>& send, const std::vector<Piece>& receive) const override {
    return std::make_unique<MpiChannel>(comm_, send, receive);
  }
#ifdef QUADRILLE_HAVE_NCCL
  std::shared_ptr<DeviceLinks> device_links(std::string& reason) const override {
    if (!std::exchange(links_->asked, true)) links_->links = make_nccl_links(*this, links_->reason);
    reason = links_->reason;
    return links_->links;
  }
#endif

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  Dims grid_, coordinates_{};
  std::shared_ptr<LinksOfRanks> links_;
};

MPI_Comm copy_of(MPI_Comm comm) {
  MPI_Comm copy = MPI_COMM_NULL;
  check(MPI_Comm_dup(comm, &copy), "making a communicator");
  return copy;
}

class MpiRanks final : public Ranks {
 public:
  /// Takes over `comm`, and ends MPI with itself if `ends_mpi`.
  MpiRanks(MPI_Comm comm, bool ends_mpi) : comm_(comm), ends_mpi_(ends_mpi) {
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm_, &rank_);
    MPI_Comm_size(comm_, &size_);
    end_ = copy_of(comm_);
    MPI_Comm host = MPI_COMM_NULL;
    check(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &host), "finding hosts");
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_size(host, &local_size_);
    MPI_Comm_free(&host);
  }
  ~MpiRanks() override {
    links_.reset();
    release(end_);
    release(comm_);
    if (ends_mpi_) MPI_Finalize();
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  std::shared_ptr<const Communicator> communicator(const Dims& grid) const override {
    return std::make_shared<const MpiCommunicator>(comm_, grid, links_);
  }
  bool sync_at_end(double seconds) override {
    using Clock = std::chrono::steady_clock;
    MPI_Request request = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(end_, &request) != MPI_SUCCESS) return false;
    for (const auto begun = Clock::now();;) {
      int done = 0;
      if (MPI_Test(&request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (done != 0) return true;
      if (seconds >= 0 && std::chrono::duration<double>(Clock::now() - begun).count() > seconds) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  [[noreturn]] void abort(int status) override {
    MPI_Abort(MPI_COMM_WORLD, status);
    ::_exit(status);
  }
  std::unique_ptr<Ranks> numbered(int number) const override {
    MPI_Comm again = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_, 0, number, &again), "numbering ranks");
    return std::make_unique<MpiRanks>(again, false);
  }
  bool mpi_has_ended() const override { return has_ended(); }
  std::string obstacle() const override {
    if (has_ended()) return "MPI is already finalized: destroy contexts on ranks before MPI_Finalize";
    int level = MPI_THREAD_SINGLE, main = 0;
    if (MPI_Query_thread(&level) != MPI_SUCCESS || level >= MPI_THREAD_SERIALIZED) return {};
    if (MPI_Is_thread_main(&main) == MPI_SUCCESS && main != 0) return {};
    return "only the thread that initialized MPI may call it: use MPI_Init_thread and MPI_THREAD_MULTIPLE for "
           "calls from others";
  }

 private:
  MPI_Comm comm_, end_ = MPI_COMM_NULL;  ///< end_: where ranks wait that others may not have come to the end with
  bool ends_mpi_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  std::shared_ptr<LinksOfRanks> links_ = std::make_shared<LinksOfRanks>();
};

Ranks* join_world() {
  int there = 0, provided = 0;
  check(MPI_Initialized(&there), "asking for its state");
  // Threads work between calls of MPI; the one that began it makes them.
  if (there == 0) check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "starting");
  return new MpiRanks(copy_of(MPI_COMM_WORLD), there == 0);
}

/// An MPI_Comm has a meaning in its own MPI only: refuses a process that runs another one than this was compiled for.
void demand_family() {
#if defined(OPEN_MPI)
  constexpr std::string_view compiled_for = "Open MPI";
#elif defined(MPICH_VERSION)
  constexpr std::string_view compiled_for = "MPICH";
#else
  constexpr std::string_view compiled_for = "";
#endif
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  check(MPI_Get_library_version(text, &length), "asking for its version");
  const std::string_view there(text, std::size_t(length));
  if (there.find(compiled_for) != there.npos) return;
  throw Error(ErrorCode::unsupported,
              fmt::format("this Quadrille is built with {}, but the program runs with {}: build "
                          "both with the same MPI",
                          compiled_for, there.substr(0, there.find('\n'))));
}

/// While it lives, MPI says that something is no communicator rather than ending the program.
class ReturnErrors {
 public:
  ReturnErrors() {
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~ReturnErrors() {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnErrors(const ReturnErrors&) = delete;
  ReturnErrors& operator=(const ReturnErrors&) = delete;

 private:
  MPI_Errhandler before_;
};

Ranks* ranks_of_host(const HostCommunicator& host) {
  const auto refuse = [](const char* why) { throw Error(ErrorCode::invalid_input, why); };
  demand_family();
  int there = 0, between_groups = 0;
  check(MPI_Initialized(&there), "asking for its state");
  if (there == 0) refuse("MPI is not initialized: call MPI_Init or MPI_Init_thread before creating a context on ranks");
  if (has_ended()) refuse("MPI is already finalized: create contexts on ranks before MPI_Finalize");
  const MPI_Comm comm =
      host.address != nullptr ? *static_cast<const MPI_Comm*>(host.address) : MPI_Comm_f2c(MPI_Fint(host.fortran));
  if (comm == MPI_COMM_NULL) refuse("the communicator is MPI_COMM_NULL");
  const ReturnErrors return_errors;
  if (MPI_Comm_test_inter(comm, &between_groups) != MPI_SUCCESS) refuse("this is not an MPI communicator");
  if (between_groups != 0) refuse("the communicator is an intercommunicator; an intracommunicator is needed");
  return new MpiRanks(copy_of(comm), false);
}

}  // namespace
}  // namespace quadrille

extern "C" QUADRILLE_API quadrille::Ranks* quadrille_join_ranks() { return quadrille::join_world(); }

extern "C" QUADRILLE_API quadrille::Ranks* quadrille_ranks_of(const quadrille::HostCommunicator& host) {
  return quadrille::ranks_of_host(host);
}
