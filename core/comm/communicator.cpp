#include "core/comm/communicator.h"

#include "core/comm/agreement.h"
#include "core/comm/fiber_sums.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>

namespace quadrille {
namespace {

constexpr double few = 1024;  ///< numbers of all ranks together that there is always memory for

/// The torus closes on the process itself.
class OwnChannel final : public Channel {
 public:
  explicit OwnChannel(std::vector<Message> messages) : messages_(std::move(messages)) {}
  void start() override {
    for (const Message& message : messages_) {
      if (message.send != nullptr && message.receive != nullptr)
        std::memmove(message.receive, message.send, message.bytes);
    }
  }
  void push() override {}
  void finish() override {}

 private:
  std::vector<Message> messages_;
};

class SingleProcess final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  const Dims& grid() const override { return grid_; }
  const Dims& coordinates() const override { return coordinates_; }
  void gather(const void* mine, std::size_t bytes, void* all) const override { std::memmove(all, mine, bytes); }
  void broadcast(void*, std::size_t, int) const override {}
  void barrier() const override {}
  std::unique_ptr<Channel> channel(std::vector<Message> messages) const override {
    return std::make_unique<OwnChannel>(std::move(messages));
  }
  std::unique_ptr<Channel> channel(const std::vector<Piece>&, const std::vector<Piece>&) const override {
    return std::make_unique<OwnChannel>(std::vector<Message>());
  }

 private:
  Dims grid_{1, 1, 1, 1};
  Dims coordinates_{0, 0, 0, 0};
};

}  // namespace

void Communicator::sum(double* values, std::size_t count) const {
  if (size() == 1) return;
  if (FiberSums::wait_for(*this, values, count)) return;
  const auto pack = [&] {
    mine_.assign(values, values + count);
    mine_.push_back(raised_);
    all_.resize(mine_.size() * std::size_t(size()));
  };
  if (double(size()) * double(count) > few) {
    all_or_none(*this, pack);
  } else {
    pack();
  }
  gather(mine_.data(), mine_.size() * sizeof(double), all_.data());
  const auto of_rank = [&](int rank) { return all_.data() + std::size_t(rank) * mine_.size(); };
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = of_rank(0)[i];
    for (int rank = 1; rank < size(); ++rank) values[i] += of_rank(rank)[i];
  }
  agreed_ = 0;
  for (int rank = 0; rank < size(); ++rank) agreed_ = std::max(agreed_, int(of_rank(rank)[count]));
}

void Communicator::maximum(double* values, std::size_t count) const {
  if (size() == 1) return;
  std::vector<double> all;
  const auto make_room = [&] { all.resize(count * std::size_t(size())); };
  if (double(size()) * double(count) > few) {
    all_or_none(*this, make_room);
  } else {
    make_room();
  }
  gather(values, count * sizeof(double), all.data());
  for (std::size_t k = 0; k < all.size(); ++k) {
    double& value = values[k % count];
    if (k < count || std::isnan(all[k]) || all[k] > value) value = all[k];
  }
}

void Communicator::exchange(std::vector<Message> messages) const {
  const std::unique_ptr<Channel> once = channel(std::move(messages));
  once->start();
  once->finish();
}

std::vector<Communicator::Bytes> Communicator::exchange(std::vector<Bytes> for_ranks) const {
  const std::size_t ranks = std::size_t(size()), me = std::size_t(rank());
  std::vector<std::uint64_t> lengths, all(ranks * ranks);
  for (const Bytes& bytes : for_ranks) lengths.push_back(bytes.size());
  gather(lengths.data(), ranks * sizeof(std::uint64_t), all.data());
  std::vector<Bytes> come(ranks);
  all_or_none(*this, [&] {
    for (std::size_t other = 0; other < ranks; ++other) {
      if (other != me) come[other].resize(all[other * ranks + me]);
    }
  });
  std::vector<Piece> send, receive;
  for (std::size_t other = 0; other < ranks; ++other) {
    if (other == me) continue;
    if (!for_ranks[other].empty()) send.push_back({int(other), for_ranks[other].data(), for_ranks[other].size()});
    if (!come[other].empty()) receive.push_back({int(other), come[other].data(), come[other].size()});
  }
  const std::unique_ptr<Channel> once = channel(send, receive);
  once->start();
  once->finish();
  come[me] = std::move(for_ranks[me]);
  return come;
}

std::shared_ptr<DeviceLinks> Communicator::device_links(std::string& reason) const {
  reason = size() == 1 ? "there is one process" : "this Quadrille is built without NCCL (QUADRILLE_NCCL)";
  return nullptr;
}

std::shared_ptr<const Communicator> single_process() {
  static const auto instance = std::make_shared<const SingleProcess>();
  return instance;
}

}  // namespace quadrille
