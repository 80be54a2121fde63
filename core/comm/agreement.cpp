#include "core/comm/agreement.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace quadrille {

void all_or_none(const Communicator& communicator, const std::function<void()>& step) {
  if (communicator.size() == 1) return step();
  std::exception_ptr error;
  try {
    step();
  } catch (...) {
    error = std::current_exception();
  }
  const char failed = error ? 1 : 0;
  std::vector<char> all(std::size_t(communicator.size()));
  communicator.gather(&failed, 1, all.data());
  if (error) std::rethrow_exception(error);
  const auto first = std::find(all.begin(), all.end(), char(1));
  if (first != all.end()) throw FailedElsewhere(int(first - all.begin()));
}

void on_first_rank(const Communicator& communicator, const std::function<void()>& step) {
  all_or_none(communicator, [&] {
    if (communicator.rank() == 0) step();
  });
}

std::string share(const Communicator& communicator, std::string text) {
  if (communicator.size() == 1) return text;
  std::uint64_t bytes = text.size();
  communicator.broadcast(&bytes, sizeof bytes, 0);
  text.resize(bytes);
  communicator.broadcast(text.data(), text.size(), 0);
  return text;
}

std::string first_reason(const Communicator& communicator, const std::string& mine) {
  constexpr std::size_t bytes = 256;
  std::vector<char> text(bytes), all(bytes * std::size_t(communicator.size()));
  mine.copy(text.data(), bytes - 1);
  communicator.gather(text.data(), bytes, all.data());
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const char* const theirs = all.data() + std::size_t(rank) * bytes;
    if (*theirs != 0) return "rank " + std::to_string(rank) + ": " + theirs;
  }
  return "";
}

bool same_everywhere(const Communicator& communicator, const std::string& text) {
  double differs = share(communicator, text) == text ? 0 : 1;
  communicator.maximum(&differs, 1);
  return differs == 0;
}

void require_same(const Communicator& communicator, const std::string& mine,
                  const std::function<Error(const std::string& of_first)>& error) {
  const std::string of_first = share(communicator, mine);
  all_or_none(communicator, [&] {
    if (mine != of_first) throw error(of_first);
  });
}

}  // namespace quadrille
