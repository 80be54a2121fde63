#include "input/run/json_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace quadrille {
namespace {

using Json = nlohmann::ordered_json;

std::string differing(const std::string& place, const Json* there, const Json* here) {
  const auto text = [](const Json* value) { return value ? value->dump() : std::string("absent"); };
  return fmt::format("{} is {} there but {} here", place.empty() ? "the job" : place, text(there), text(here));
}

std::string difference(const Json& there, const Json& here, const std::string& place) {
  if (there.is_object() && here.is_object()) {
    const std::string prefix = place.empty() ? "" : place + ".";
    for (const auto& [key, value] : there.items()) {
      const auto other = here.find(key);
      if (other == here.end()) return differing(prefix + key, &value, nullptr);
      const std::string inside = difference(value, *other, prefix + key);
      if (!inside.empty()) return inside;
    }
    for (const auto& [key, value] : here.items()) {
      if (!there.contains(key)) return differing(prefix + key, nullptr, &value);
    }
    return {};
  }
  if (there.is_array() && here.is_array()) {
    for (std::size_t k = 0; k < std::max(there.size(), here.size()); ++k) {
      const std::string entry = fmt::format("{}[{}]", place, k);
      if (k >= there.size()) return differing(entry, nullptr, &here[k]);
      if (k >= here.size()) return differing(entry, &there[k], nullptr);
      const std::string inside = difference(there[k], here[k], entry);
      if (!inside.empty()) return inside;
    }
    return {};
  }
  return there == here ? std::string() : differing(place, &there, &here);
}

void clean(Json& value, const std::string& place, std::vector<std::string>& found) {
  if (value.is_object()) {
    for (auto& [key, inside] : value.items()) clean(inside, place.empty() ? key : place + "." + key, found);
  } else if (value.is_array()) {
    for (std::size_t k = 0; k < value.size(); ++k) clean(value[k], fmt::format("{}[{}]", place, k), found);
  } else if (value.is_number_float() && !std::isfinite(value.get<double>())) {
    found.push_back(
        fmt::format("{} is {}, which JSON cannot represent; null is written instead", place, value.get<double>()));
    value = nullptr;
  }
}

}  // namespace

std::string first_difference(const Json& there, const Json& here) { return difference(there, here, ""); }

std::vector<std::string> remove_not_finite(Json& value) {
  std::vector<std::string> found;
  clean(value, "", found);
  return found;
}

Json extended(Json there, const Json& here, const std::vector<std::string>& growing) {
  for (const std::string& place : growing) {
    const Json::json_pointer at(place);
    const auto whole = [&](const Json& job) { return job.contains(at) && job.at(at).is_number_integer(); };
    if (whole(there) && whole(here) && there.at(at) < here.at(at)) there[at] = here.at(at);
  }
  return there;
}

}  // namespace quadrille
