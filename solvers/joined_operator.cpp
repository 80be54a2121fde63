#include "solvers/joined_operator.h"

#include "core/comm/fiber_sums.h"

#include <algorithm>
#include <cstddef>

namespace quadrille {

void Meeting::hold(int count, const Communicator& ranks, const std::function<void(int)>& solve) {
  wishes_.assign(std::size_t(count), {});
  FiberSums sums(ranks);
  Fibers::run(count, solve, [&](Fibers& fibers) {
    if (!sums.serve(fibers)) serve(fibers);
  });
}

void Meeting::apply(const Wish& wish) {
  Fibers* const fibers = Fibers::current();
  if (fibers == nullptr) return wish.a->apply(*wish.y, *wish.x, wish.dagger);
  wishes_[std::size_t(fibers->number())] = wish;
  fibers->wait();
}

void Meeting::serve(Fibers& fibers) {
  std::vector<std::vector<int>> groups;  // of the same wish
  for (const int solve : fibers.waiting()) {
    const Wish& wish = wishes_[std::size_t(solve)];
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int>& of) {
      const Wish& other = wishes_[std::size_t(of.front())];
      return other.a == wish.a && other.dagger == wish.dagger;
    });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(solve);
  }
  const std::vector<int>& fewest = *std::min_element(
      groups.begin(), groups.end(), [](const auto& one, const auto& other) { return one.size() < other.size(); });
  std::vector<Operands> list;
  for (const int solve : fewest) list.push_back({wishes_[std::size_t(solve)].y, wishes_[std::size_t(solve)].x});
  const Wish& wish = wishes_[std::size_t(fewest.front())];
  wish.a->apply_each(list, wish.dagger);
  for (const int solve : fewest) fibers.release(solve);
}

}  // namespace quadrille
