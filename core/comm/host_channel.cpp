#include "core/comm/host_channel.h"

#include "core/comm/transport_name.h"
#include "core/system/aligned_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <fstream>
#include <new>
#include <string>

namespace quadrille {
namespace {

/// Where another process finds memory: a descriptor of this process, on a system that processes of the same name share.
struct Whereabouts {
  char system[96] = "";  ///< "": nowhere
  int process = 0, descriptor = -1;
};

/// Of the running kernel and the processes that it shows here.
std::string this_system() {
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  char processes[48] = "";
  if (boot.empty() || ::readlink("/proc/self/ns/pid", processes, sizeof processes - 1) <= 0) return "";
  return boot + " " + processes;
}

}  // namespace

/// Memory of this process that others can map, or that of another one.
class HostChannel::Memory {
 public:
  /// Own memory, from the C library where the system shares none.
  Memory(std::size_t bytes, bool share) : bytes_(bytes) {
    if (share) create();
    if (data_ != nullptr) return;
    private_ = aligned_memory(bytes);
    data_ = static_cast<std::byte*>(private_.get());
  }
  /// That of another process; data() is null when it cannot be mapped.
  Memory(std::size_t bytes, const Whereabouts& where) : bytes_(bytes) {
    if (where.descriptor < 0 || where.system != this_system()) return;
    const std::string name = "/proc/" + std::to_string(where.process) + "/fd/" + std::to_string(where.descriptor);
    descriptor_ = ::open(name.c_str(), O_RDWR | O_CLOEXEC);
    map();
  }
  ~Memory() {
    if (!private_ && data_ != nullptr) ::munmap(data_, bytes_);
    close();
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  Whereabouts where() const {
    Whereabouts result;
    if (descriptor_ < 0) return result;
    const std::string system = this_system();
    if (system.size() >= sizeof result.system) return result;
    std::memcpy(result.system, system.data(), system.size());
    result.process = int(::getpid());
    result.descriptor = descriptor_;
    return result;
  }
  /// The mapping stays.
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  void create() {
    descriptor_ = ::memfd_create("quadrille", MFD_CLOEXEC);
    // Memory that is not there must be found out here, not when it is touched.
    if (descriptor_ >= 0 && ::posix_fallocate(descriptor_, 0, off_t(bytes_)) != 0) close();
    map();
  }
  void map() {
    if (descriptor_ < 0) return;
    void* memory = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
    if (memory == MAP_FAILED) return close();
    data_ = static_cast<std::byte*>(memory);
  }

  std::size_t bytes_;
  int descriptor_ = -1;
  std::byte* data_ = nullptr;
  std::shared_ptr<void> private_;
};

HostChannel::HostChannel(const Communicator& communicator, const std::vector<HostMessage>& messages)
    : boxes_(messages.size()), places_{0}, heard_(messages.size()) {
  for (const HostMessage& message : messages)
    places_.push_back(places_.back() + (message.bytes + cache_line - 1) / cache_line * cache_line * 2);
  const bool share = named_transport(communicator) != "messages";
  memories_.push_back(std::make_unique<Memory>(std::max(places_.back(), cache_line), share));
  const auto place = [&](std::byte* memory, std::size_t k) {
    return std::array{memory + places_[k], memory + (places_[k] + places_[k + 1]) / 2};
  };
  for (std::size_t k = 0; k < boxes_.size(); ++k) boxes_[k].in = place(memories_[0]->data(), k);
  map_neighbours(communicator, messages);
  for (std::size_t k = 0; k < boxes_.size(); ++k) {
    if (boxes_[k].mapped) continue;
    memories_.push_back(std::make_unique<Memory>(std::max(places_[k + 1] - places_[k], cache_line), false));
    std::byte* const own = memories_.back()->data();
    boxes_[k].out = {own, own + (places_[k + 1] - places_[k]) / 2};
  }
  connect(communicator, messages);
}

HostChannel::~HostChannel() = default;

void HostChannel::map_neighbours(const Communicator& communicator, const std::vector<HostMessage>& messages) {
  std::vector<Whereabouts> all(std::size_t(communicator.size()));
  const Whereabouts mine = memories_[0]->where();
  communicator.gather(&mine, sizeof mine, all.data());
  std::vector<std::byte*> mapped(all.size(), nullptr);
  for (std::size_t k = 0; k < boxes_.size(); ++k) {
    const std::size_t to = std::size_t(communicator.neighbour(messages[k].direction));
    if (mapped[to] == nullptr) {
      auto memory = std::make_unique<Memory>(std::max(places_.back(), cache_line), all[to]);
      if (memory->data() == nullptr) continue;
      memory->close();
      mapped[to] = memory->data();
      memories_.push_back(std::move(memory));
    }
    boxes_[k].out = {mapped[to] + places_[k], mapped[to] + (places_[k] + places_[k + 1]) / 2};
    boxes_[k].mapped = true;
  }
}

// Both ends know whether a message is shared from what the senders say; until all have said it, memory can be mapped.
void HostChannel::connect(const Communicator& communicator, const std::vector<HostMessage>& messages) {
  std::vector<char> mine, all(boxes_.size() * std::size_t(communicator.size()) + 1);
  for (const Box& box : boxes_) mine.push_back(box.mapped ? 1 : 0);
  communicator.gather(mine.data(), mine.size(), all.data());
  memories_[0]->close();
  for (std::size_t turn = 0; turn < 2; ++turn) {
    std::vector<Message> parts;
    for (std::size_t k = 0; k < boxes_.size(); ++k) {
      const auto& [direction, bytes] = messages[k];
      const std::size_t from = std::size_t(communicator.neighbour(opposite_direction(direction)));
      const bool comes_shared = all[from * boxes_.size() + k] != 0;
      parts.push_back(boxes_[k].mapped ? Message{direction, &said_, nullptr, 1}
                                       : Message{direction, boxes_[k].out[turn], nullptr, bytes});
      parts.push_back(comes_shared ? Message{direction, nullptr, &heard_[k], 1}
                                   : Message{direction, nullptr, boxes_[k].in[turn], bytes});
    }
    channels_[turn] = communicator.channel(std::move(parts));
  }
}

int HostChannel::shared() const {
  int result = 0;
  for (const Box& box : boxes_) result += box.mapped ? 1 : 0;
  return result;
}

void HostChannel::start() {
  std::atomic_thread_fence(std::memory_order_seq_cst);  // what other ranks read in this memory must be there
  channels_[turn_]->start();
}

void HostChannel::finish() {
  channels_[turn_]->finish();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  turn_ = 1 - turn_;
}

}  // namespace quadrille
