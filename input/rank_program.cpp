#include "input/rank_program.h"

#include "core/system/log.h"
#include "input/program.h"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <sstream>

namespace quadrille {
namespace {

constexpr double patience = 5;  ///< seconds for others to fail, too
constexpr int error_status = 1, usage_status = 2;

/// What a rank ends with.
struct Ending {
  int status;
  bool speaks;
};

}  // namespace

int run_on_ranks(Ranks& ranks, const std::vector<std::string>& words) {
  std::ostringstream nowhere, errors;
  if (ranks.rank() > 0) log().set_level(spdlog::level::off);
  const int status = run_program(words, ranks.rank() == 0 ? std::cout : nowhere, errors, &ranks);
  const bool failed = status == error_status || status == usage_status;
  if (!ranks.meet_at_end(failed ? patience : -1)) {
    std::cerr << fmt::format("quadrille: rank {} of {} has failed and ends the others\n", ranks.rank(), ranks.size())
              << errors.str() << std::flush;
    ranks.abort(status);
  }
  const Ending mine{status, !errors.str().empty()};
  std::vector<Ending> all(std::size_t(ranks.size()));
  ranks.communicator({1, 1, 1, ranks.size()})->gather(&mine, sizeof mine, all.data());
  const auto voice = std::find_if(all.begin(), all.end(), [](const Ending& ending) { return ending.speaks; });
  if (voice == all.begin() + ranks.rank()) std::cerr << errors.str() << std::flush;
  return std::max_element(all.begin(), all.end(), [](const Ending& a, const Ending& b) { return a.status < b.status; })
      ->status;
}

}  // namespace quadrille
