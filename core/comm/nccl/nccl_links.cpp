#include "core/comm/nccl/nccl_links.h"

#include "core/comm/agreement.h"
#include "core/error.h"

#include <fmt/format.h>
#include <nccl.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace quadrille {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr seconds patience_to_begin(120), patience_to_end(10), for_ever(1'000'000'000);
constexpr milliseconds between_looks(100);  ///< of the watcher

std::string said(ncclResult_t status, ncclComm_t comm) {
  const char* const last = ncclGetLastError(comm);
  const bool has_more = last != nullptr && *last != 0;
  return fmt::format("{}{}{}", ncclGetErrorString(status), has_more ? ": " : "", has_more ? last : "");
}

bool is_good(ncclResult_t status) { return status == ncclSuccess || status == ncclInProgress; }

/// A communicator that does not block: NCCL's own threads do its work, and its state says when that is
/// done. A watcher looks for errors, as kernels that wait for a rank that is gone would do so for ever. Any error ends
/// it.
///
/// Who touches the communicator holds the mutex; nobody holds it while others are waited for.
class NcclLinks final : public DeviceLinks {
 public:
  NcclLinks(const ncclUniqueId& id, const Communicator& ranks) {
    constexpr const char* joining = "joining the devices of ranks";
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t status = ncclCommInitRankConfig(&comm_, ranks.size(), id, ranks.rank(), &config);
    if (comm_ == nullptr) throw Error(ErrorCode::unsupported, fmt::format("NCCL: {}: {}", joining, said(status, {})));
    if (!wait(joining, patience_to_begin)) {
      abort(fmt::format("{}: not done after {} s", joining, patience_to_begin.count()));
      throw_failure();
    }
    watcher_ = std::jthread([this](const std::stop_token& stop) { watch(stop); });
  }
  ~NcclLinks() override {
    watcher_.request_stop();
    watcher_.join();
    if (comm_ == nullptr) return;
    constexpr const char* leaving = "leaving other ranks";
    try {
      check(ncclCommFinalize(comm_), leaving);
      if (wait(leaving, patience_to_end)) {
        (void)ncclCommDestroy(comm_);
      } else {
        abort(leaving);
      }
    } catch (const Error&) {  // it has been given up
    }
  }

  void start(std::span<const DevicePiece> send, std::span<const DevicePiece> receive, void* stream) override {
    finish();  // a group at a time
    const std::unique_lock lock(mutex_);
    demand_works();
    const auto on = static_cast<cudaStream_t>(stream);
    check(ncclGroupStart(), "beginning an exchange");
    for (const DevicePiece& piece : receive)
      check(ncclRecv(piece.memory, piece.bytes, ncclInt8, piece.rank, comm_, on), "receiving from a neighbour");
    for (const DevicePiece& piece : send)
      check(ncclSend(piece.memory, piece.bytes, ncclInt8, piece.rank, comm_, on), "sending to a neighbour");
    check(ncclGroupEnd(), "starting an exchange");
    asked_ = true;
  }
  void finish() override {
    if (asked_) wait("an exchange with neighbours", for_ever);
    asked_ = false;
  }
  void abort(const std::string& reason) override {
    const std::unique_lock lock(mutex_);
    give_up(reason);
  }

 private:
  [[noreturn]] void throw_failure() const { throw Error(ErrorCode::unsupported, fmt::format("NCCL: {}", failure_)); }
  void demand_works() const {
    if (comm_ == nullptr) throw_failure();
  }
  void check(ncclResult_t status, const char* what) {
    if (is_good(status)) return;
    give_up(fmt::format("{}: {}", what, said(status, comm_)));
    throw_failure();
  }
  /// The first reason stays.
  void give_up(const std::string& reason) {
    if (comm_ == nullptr) return;
    failure_ = reason;
    (void)ncclCommAbort(comm_);
    comm_ = nullptr;
  }
  ncclResult_t state() const {
    ncclResult_t now = ncclSuccess;
    const ncclResult_t status = ncclCommGetAsyncError(comm_, &now);
    return status == ncclSuccess ? now : status;
  }

  /// Until that work is done; false when it is not after `patience`.
  bool wait(const char* what, seconds patience) {
    const auto done = [&] {
      const std::unique_lock lock(mutex_);
      demand_works();
      const ncclResult_t now = state();
      check(now, what);
      return now == ncclSuccess;
    };
    for (const auto begun = Clock::now(); !done();) {
      const auto waited = Clock::now() - begun;
      if (waited > patience) return false;
      if (waited < milliseconds(1)) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(milliseconds(1));
      }
    }
    return true;
  }

  void watch(const std::stop_token& stop) {
    std::condition_variable_any woken;
    std::unique_lock lock(mutex_);
    while (comm_ != nullptr && !stop.stop_requested()) {
      const ncclResult_t now = state();
      if (!is_good(now)) give_up(said(now, comm_));
      woken.wait_for(lock, stop, between_looks, [] { return false; });
    }
  }

  std::mutex mutex_;
  ncclComm_t comm_ = nullptr;  ///< null once it has been given up
  std::string failure_;
  bool asked_ = false;  ///< for an exchange, which the device may not have been
  std::jthread watcher_;
};

}  // namespace

std::shared_ptr<DeviceLinks> make_nccl_links(const Communicator& ranks, std::string& reason) {
  ncclUniqueId id{};
  std::string mine;
  if (ranks.rank() == 0) {
    const ncclResult_t status = ncclGetUniqueId(&id);
    if (status != ncclSuccess) mine = fmt::format("NCCL: {}", said(status, nullptr));
  }
  ranks.broadcast(&id, sizeof id, 0);
  reason = first_reason(ranks, mine);
  if (!reason.empty()) return nullptr;
  std::shared_ptr<NcclLinks> links;
  try {
    links = std::make_shared<NcclLinks>(id, ranks);
  } catch (const Error& error) {
    mine = error.what();
  }
  reason = first_reason(ranks, mine);
  return reason.empty() ? links : nullptr;
}

}  // namespace quadrille
