#include "core/comm/communicator.h"

#include <cstring>

namespace quadrille {
namespace {

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const Dims& grid() const override { return grid_; }
  const Dims& coordinates() const override { return coordinates_; }
  void sum(double*, std::size_t) const override {}
  void maximum(double*, std::size_t) const override {}
  void broadcast(void*, std::size_t, int) const override {}
  void shift(int, const void* send, void* receive, std::size_t bytes) const override {
    std::memmove(receive, send, bytes);  // the torus closes on the process itself
  }
  void barrier() const override {}

 private:
  Dims grid_{1, 1, 1, 1};
  Dims coordinates_{0, 0, 0, 0};
};

}  // namespace

std::shared_ptr<const Communicator> single_process() {
  static const auto instance = std::make_shared<const SingleProcess>();
  return instance;
}

}  // namespace quadrille
