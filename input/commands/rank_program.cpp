#include "input/commands/rank_program.h"

#include "core/comm/agreement.h"
#include "core/system/build_id.h"
#include "core/system/host_name.h"
#include "core/system/log.h"
#include "input/commands/check.h"
#include "input/commands/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

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

std::string name_of(const Ranks& ranks) {
  return fmt::format("rank {} of {} on {}", ranks.rank(), ranks.size(), host_name());
}

std::string joined(const std::vector<std::string>& words) { return fmt::format("quadrille {}", fmt::join(words, " ")); }

/// Ranks of different builds or commands would wait for each other for ever.
void require_one_program(const Communicator& all, const std::vector<std::string>& words) {
  require_same(all, build_id(), [](const std::string& of_first) {
    return Error(ErrorCode::invalid_input,
                 fmt::format("this rank runs the build {} of Quadrille, rank 0 {}: start all ranks with the same one",
                             build_id(), of_first));
  });
  require_same(all, joined(words), [&](const std::string& of_first) {
    return Error(ErrorCode::invalid_input, fmt::format("this rank was started with '{}', rank 0 with '{}': all ranks "
                                                       "must have the same command",
                                                       joined(words), of_first));
  });
}

/// run_program() of ranks that have the same program and words.
int run_one_program(Ranks& ranks, const std::vector<std::string>& words, std::ostream& out, std::ostream& err) {
  try {
    require_one_program(*ranks.communicator({1, 1, 1, ranks.size()}), words);
  } catch (const FailedElsewhere&) {
    return error_status;
  } catch (const Error& error) {
    print_error(err, error.what());
    return error_status;
  }
  return run_program(words, out, err, &ranks);
}

}  // namespace

int run_on_ranks(Ranks& ranks, const std::vector<std::string>& words) {
  std::ostringstream nowhere, errors;
  if (ranks.rank() > 0) log().set_level(spdlog::level::off);
  const int status = run_one_program(ranks, words, ranks.rank() == 0 ? std::cout : nowhere, errors);
  const bool failed = status == error_status || status == usage_status;
  if (!ranks.sync_at_end(failed ? patience : -1)) {
    std::cerr << fmt::format("quadrille: {} failed and ends the others\n{}", name_of(ranks), errors.str())
              << std::flush;
    ranks.abort(status);
  }
  const Ending mine{status, !errors.str().empty()};
  std::vector<Ending> all(std::size_t(ranks.size()));
  ranks.communicator({1, 1, 1, ranks.size()})->gather(&mine, sizeof mine, all.data());
  const auto voice = std::find_if(all.begin(), all.end(), [](const Ending& ending) { return ending.speaks; });
  if (voice == all.begin() + ranks.rank()) {
    if (ranks.rank() > 0) std::cerr << fmt::format("quadrille: {}:\n", name_of(ranks));
    std::cerr << errors.str() << std::flush;
  }
  return std::max_element(all.begin(), all.end(), [](const Ending& a, const Ending& b) { return a.status < b.status; })
      ->status;
}

}  // namespace quadrille
