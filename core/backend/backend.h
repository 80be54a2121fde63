// A backend owns the memory of fields and the streams of their kernels. What the kernels do is in tables beside it, one
// for each subject: core/field/spinor_work.h, core/gauge/work/link_work.h and dirac/hop_kernel.h.
#pragma once

#include "core/api.h"
#include "core/layout/layout.h"
#include "core/numbers/precision.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace quadrille {

class Communicator;
class Lattice;
class TransferBuffer;

namespace blas {
struct Call;
}

/// Of builds for debugging and with sanitizers (the CMake option QUADRILLE_POISON).
#ifdef QUADRILLE_POISON
constexpr bool poisons_memory = true;
#else
constexpr bool poisons_memory = false;
#endif

/// Who reaches memory by its address: code on the host, code on a device, both.
enum class MemoryPlace { host, device, both, other_device };

/// The stream of one user of a backend, and the memory of its sums.
class Lane {
 public:
  virtual ~Lane() = default;
};

/// Sums over ranks in the memory of the fields, without the host.
class JoinedSums {
 public:
  virtual ~JoinedSums() = default;
};

/// Where the work of a thread goes: null and -1 are the first lane and the device of the backend that is entered.
struct WorkPlace {
  Lane* lane = nullptr;
  int device = -1;
};

class QUADRILLE_API Backend {
 public:
  virtual ~Backend() = default;

  virtual std::string name() const = 0;
  /// What the kernels of fields in this layout were compiled for: "avx2", "sm_90".
  virtual std::string architecture(const Layout& layout, Precision precision) const = 0;
  /// The machine's name for what computes: "NVIDIA H200"; "the CPU".
  virtual std::string device() const = 0;
  /// The layout of the fields that this backend makes.
  virtual Layout layout(const Lattice& lattice, Precision precision) const = 0;
  /// Whether host code may read and write the memory. If not, calls return before their work is done; work is done in
  /// the order of the calls, and calls that return a result wait for it.
  virtual bool host_memory() const = 0;

  /// At least `bytes` bytes aligned to 64. Throws ErrorCode::unsupported with the bytes needed when memory runs out.
  /// Contents are undefined; with `poisons_memory` every byte is 0xff (not-a-number in every floating-point format).
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory, std::size_t bytes) noexcept = 0;
  /// Copy between this backend's memory and ordinary memory; both wait until the bytes are there.
  virtual void copy_in(void* to, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* from, std::size_t bytes) = 0;
  /// Memory for data that travels while other work goes on (core/backend/transfer_buffer.h). Throws as allocate() does.
  virtual std::unique_ptr<TransferBuffer> transfer_buffer(std::size_t bytes) = 0;
  /// Waits for all work queued so far.
  virtual void synchronize() = 0;
  /// The number of the GPU, -1 without one; and the stream (a cudaStream_t) of its work.
  virtual int ordinal() const { return -1; }
  virtual void* native_stream() const { return nullptr; }
  /// A lane beside the first; null where the work of all threads is apart anyway. What is made in one lane may be used
  /// in another when the work on it is done (synchronize()).
  virtual std::unique_ptr<Lane> make_lane() { return nullptr; }
  /// From now on the work of this thread goes `there`; gives where it went before. See UseLane.
  virtual WorkPlace enter(WorkPlace there) noexcept {
    (void)there;
    return {};
  }
  /// Of memory that other code has allocated.
  virtual MemoryPlace place_of(const void* memory) const = 0;
  /// Later work waits for all work queued on `stream` (a cudaStream_t; null: on the device).
  virtual void wait_for(void* stream) = 0;

  /// One fused operation of field algebra; its sums are overwritten, but for those that stay with resident scalars
  /// (core/blas/call.h).
  virtual void run(const blas::Call& call, double* sums) = 0;
  /// For operations whose scalars stay with the fields (blas::Resident). Null where the host adds up what ranks
  /// have: always with host_memory(). Collective.
  virtual std::unique_ptr<JoinedSums> join_sums(const Communicator& communicator) {
    (void)communicator;
    return nullptr;
  }

  /// Bytes of the last-level cache.
  virtual std::size_t cache_bytes() const = 0;
  /// Bytes of the fields now alive, the most in use at once so far, and the number of allocations so far.
  virtual std::size_t allocated_bytes() const = 0;
  virtual std::size_t peak_bytes() const = 0;
  virtual std::size_t allocations() const = 0;
  /// Bytes that copy_in() and copy_out() have moved between the host and a device so far.
  virtual std::size_t copied_bytes() const { return 0; }
  /// An upper bound on the bytes that are free; no bound for the host's memory.
  virtual std::size_t available_bytes() const = 0;
  /// `give_way` is called when memory runs out in this thread; it frees some and returns whether it could. An empty
  /// function removes it.
  static void when_short(std::function<bool()> give_way);

 protected:
  static bool others_give_way();
};

/// Held by the one thread that works in the first lanes: jobs, and calls of modules.
QUADRILLE_API std::recursive_mutex& first_lane_mutex();

/// While it lives, the work of this thread goes into `lane` (null: the first one); its destructor waits for that work.
class QUADRILLE_API UseLane {
 public:
  UseLane(Backend& backend, Lane* lane) : backend_(backend), before_(backend.enter({.lane = lane})) {}
  ~UseLane();
  UseLane(const UseLane&) = delete;
  UseLane& operator=(const UseLane&) = delete;

 private:
  Backend& backend_;
  WorkPlace before_;
};

/// The backend of this name ("cpu", "cuda"; "auto" is cuda with a usable GPU, cpu elsewhere). Throws
/// ErrorCode::invalid_input for an unknown name, with the known ones, and ErrorCode::unsupported with the reason for
/// one that this build or this machine has not. Each GPU has a backend of its own: that of `device`, which must be
/// there; -1 is the one that this thread works in, or else that of its current device. A thread works there while it
/// has a UseLane; its current device stays as it was.
QUADRILLE_API Backend& find_backend(const std::string& name, int device = -1);
/// The device of rank `local_rank` of a host, whose ranks use its devices in turn; -1 where there is none.
QUADRILLE_API int device_in_turn(int local_rank);

/// Why the backend of this name cannot be used here; empty when it can.
QUADRILLE_API std::string backend_trouble(const std::string& name);

/// The CPU backend: always there.
QUADRILLE_API Backend& cpu_backend();

}  // namespace quadrille
