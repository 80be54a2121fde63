#include "core/system/fibers.h"

#include "core/error.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace quadrille {
namespace {

/// Memory is taken as it is touched. Libraries run on it, drivers among them.
constexpr std::size_t stack_bytes = std::size_t(1) << 20;

/// Below it is a page that nobody may touch, so that an overflow ends the program.
class Stack {
 public:
  Stack() : guard_(std::size_t(sysconf(_SC_PAGESIZE))) {
    memory_ = mmap(nullptr, guard_ + stack_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory_ == MAP_FAILED) throw std::bad_alloc();
    if (mprotect(bottom(), stack_bytes, PROT_READ | PROT_WRITE) == 0) return;
    munmap(memory_, guard_ + stack_bytes);
    throw std::bad_alloc();
  }
  ~Stack() { munmap(memory_, guard_ + stack_bytes); }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;

  void* bottom() const { return static_cast<std::byte*>(memory_) + guard_; }

 private:
  std::size_t guard_;
  void* memory_;
};

/// Where a stack was left.
struct Place {
  ucontext_t context{};
  const void* bottom = nullptr;  ///< of the stack, as AddressSanitizer is told it
  std::size_t bytes = stack_bytes;
};

/// Leaves `from`, for ever if it `ends`, and goes on at `to`.
void go_on([[maybe_unused]] Place& from, Place& to, [[maybe_unused]] bool ends) {
#if defined(__SANITIZE_ADDRESS__)
  void* frames = nullptr;
  __sanitizer_start_switch_fiber(ends ? nullptr : &frames, to.bottom, to.bytes);
  swapcontext(&from.context, &to.context);
  __sanitizer_finish_switch_fiber(frames, nullptr, nullptr);
#else
  swapcontext(&from.context, &to.context);
#endif
}

struct Fiber {
  enum class State { ready, waiting, ended };

  Stack stack;
  Place place;
  State state = State::ready;
  std::exception_ptr to_throw;  ///< where it goes on
  std::exception_ptr thrown;    ///< by its body
};

}  // namespace

struct Fibers::Data {
  const std::function<void(int)>& body;
  std::vector<std::unique_ptr<Fiber>> fibers;
  Place outside;
  int running = 0;

  static thread_local Data* active;    ///< of this thread
  static thread_local Fibers* inside;  ///< what current() gives

  void add();
  void take_turns(Fibers& all);
  void serve(Fibers& all, const std::function<void(Fibers&)>& serve) const;
  bool some(Fiber::State state) const;
  /// On the stack of a fiber: goes outside.
  void leave(Fiber::State state) {
    Fiber& fiber = *fibers[std::size_t(running)];
    fiber.state = state;
    go_on(fiber.place, outside, state == Fiber::State::ended);
    if (fiber.to_throw) std::rethrow_exception(std::exchange(fiber.to_throw, nullptr));
  }
  /// What a fiber does.
  static void live();
};

thread_local Fibers::Data* Fibers::Data::active = nullptr;
thread_local Fibers* Fibers::Data::inside = nullptr;

void Fibers::Data::live() {
  Data& data = *active;
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_finish_switch_fiber(nullptr, &data.outside.bottom, &data.outside.bytes);
#endif
  try {
    data.body(data.running);
  } catch (...) {
    data.fibers[std::size_t(data.running)]->thrown = std::current_exception();
  }
  data.leave(Fiber::State::ended);
}

void Fibers::Data::add() {
  Fiber& fiber = *fibers.emplace_back(std::make_unique<Fiber>());
  fiber.place.bottom = fiber.stack.bottom();
  getcontext(&fiber.place.context);
  fiber.place.context.uc_stack.ss_sp = fiber.stack.bottom();
  fiber.place.context.uc_stack.ss_size = stack_bytes;
  makecontext(&fiber.place.context, &Data::live, 0);
}

bool Fibers::Data::some(Fiber::State state) const {
  for (const auto& fiber : fibers)
    if (fiber->state == state) return true;
  return false;
}

void Fibers::Data::take_turns(Fibers& all) {
  while (some(Fiber::State::ready)) {
    for (running = 0; running < int(fibers.size()); ++running) {
      Fiber& fiber = *fibers[std::size_t(running)];
      if (fiber.state != Fiber::State::ready) continue;
      inside = &all;
      go_on(outside, fiber.place, false);
      inside = nullptr;
    }
  }
}

void Fibers::Data::serve(Fibers& all, const std::function<void(Fibers&)>& serve) const {
  std::exception_ptr failure;
  try {
    serve(all);
    if (!some(Fiber::State::ready)) throw Error(ErrorCode::internal, "all fibers wait, and none was released");
  } catch (...) {
    failure = std::current_exception();
  }
  if (!failure) return;
  for (const auto& fiber : fibers) {
    if (fiber->state != Fiber::State::waiting) continue;
    fiber->to_throw = failure;
    fiber->state = Fiber::State::ready;
  }
}

void Fibers::run(int count, const std::function<void(int)>& body, const std::function<void(Fibers&)>& serve) {
  Data data{body, {}, {}};
  Fibers all(data);
  for (int i = 0; i < count; ++i) data.add();
  Data* const before = std::exchange(Data::active, &data);
  Fibers* const before_inside = std::exchange(Data::inside, nullptr);
  for (data.take_turns(all); data.some(Fiber::State::waiting); data.take_turns(all)) data.serve(all, serve);
  Data::active = before;
  Data::inside = before_inside;
  for (const auto& fiber : data.fibers)
    if (fiber->thrown) std::rethrow_exception(fiber->thrown);
}

Fibers* Fibers::current() { return Data::inside; }
int Fibers::number() const { return data_.running; }
void Fibers::wait() { data_.leave(Fiber::State::waiting); }
void Fibers::pass() { data_.leave(Fiber::State::ready); }
void Fibers::release(int number) { data_.fibers[std::size_t(number)]->state = Fiber::State::ready; }

std::vector<int> Fibers::waiting() const {
  std::vector<int> numbers;
  for (std::size_t i = 0; i < data_.fibers.size(); ++i)
    if (data_.fibers[i]->state == Fiber::State::waiting) numbers.push_back(int(i));
  return numbers;
}

}  // namespace quadrille
