// Functions that take turns on one thread, each on a stack of its own: where one waits, the others go on.
#pragma once

#include "core/api.h"

#include <functional>
#include <vector>

namespace quadrille {

/// The fibers of one call of run().
class QUADRILLE_API Fibers {
 public:
  /// Calls body(0) ... body(count - 1) on this thread, in turns whose order depends on nothing but what they do: each
  /// goes on until it calls wait() or pass(), or ends. When all that have not ended wait, serve(fibers) is called
  /// outside of them; it must release() one at least. Where a body throws, the others go on; run() throws what the
  /// first of them threw when all have ended. What `serve` throws is thrown in all that wait.
  ///
  /// Neither wait() nor pass() may be called while an exception is handled.
  static void run(int count, const std::function<void(int)>& body, const std::function<void(Fibers&)>& serve);

  /// Those that the caller is one of; null outside of them.
  static Fibers* current();

  /// The number of the one that calls.
  int number() const;
  /// Until release().
  void wait();
  /// Lets the others go on first.
  void pass();

  /// Those that wait, in rising order.
  std::vector<int> waiting() const;
  /// Ends the wait of one.
  void release(int number);

  Fibers(const Fibers&) = delete;
  Fibers& operator=(const Fibers&) = delete;

 private:
  struct Data;
  explicit Fibers(Data& data) : data_(data) {}

  Data& data_;
};

/// Where the caller is about to wait for what others need not wait for.
inline void let_others_go_on() {
  if (Fibers* const fibers = Fibers::current()) fibers->pass();
}

}  // namespace quadrille
