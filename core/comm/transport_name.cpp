#include "core/comm/transport_name.h"

#include "core/comm/agreement.h"
#include "core/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace quadrille {
namespace {

constexpr const char* names[] = {"peer", "nccl", "pinned", "messages"};

std::string text_here() {
  const char* const text = std::getenv(transport_variable);
  return text != nullptr ? text : "";
}

void require_known(const std::string& name) {
  if (name.empty() || std::find(std::begin(names), std::end(names), name) != std::end(names)) return;
  throw Error(ErrorCode::invalid_input, fmt::format("{}: unknown transport '{}'; the transports are {}",
                                                    transport_variable, name, fmt::join(names, ", ")));
}

}  // namespace

std::string named_transport(const Communicator& ranks) {
  std::string name = text_here();
  all_or_none(ranks, [&] { require_known(name); });
  return name;
}

std::string shared_transport(const Communicator& ranks) {
  std::string name = share(ranks, text_here());
  require_known(name);
  return name;
}

}  // namespace quadrille
