// What differs between two JSON values, and what JSON cannot hold.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace quadrille {

/// The first place where two JSON values differ, as "operator.kappa is 0.1 there and 0.2 here"; empty when nowhere.
std::string first_difference(const nlohmann::ordered_json& there, const nlohmann::ordered_json& here);

/// Replaces numbers that are not finite by null and names their places.
std::vector<std::string> remove_not_finite(nlohmann::ordered_json& value);

/// `there` with the larger whole numbers of `here` at the places (JSON pointers) of `growing`.
nlohmann::ordered_json extended(nlohmann::ordered_json there, const nlohmann::ordered_json& here,
                                const std::vector<std::string>& growing);

}  // namespace quadrille
