// Averages of results.json files: against sums written out, at every depth, with gaps.
#include "input/ensemble/averages.h"
#include "input/tasks/pion_mass.h"
#include "modules/quenched/autocorrelation.h"
#include "tests/testing/random_seed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace quadrille {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t extent = 8;

class Averages : public ::testing::Test {
 protected:
  double uniform(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random_); }

  std::vector<double> pion() {
    std::vector<double> out;
    const double amplitude = uniform(0.9, 1.1), mass = uniform(0.4, 0.5);
    for (std::size_t t = 0; t < extent; ++t) out.push_back(amplitude * std::cosh(mass * (double(t) - 0.5 * extent)));
    return out;
  }

  /// Results of one configuration with the source at time `source`.
  Json results(const std::vector<double>& after_source, std::size_t source) {
    std::vector<double> absolute(extent);
    for (std::size_t t = 0; t < extent; ++t) absolute[(source + t) % extent] = after_source[t];
    Json masses = Json::array();
    for (const double mass : effective_masses(absolute, int(source))) masses.push_back(mass);
    return {{"correlators",
             {{"light", {{"pion", absolute}, {"source_time", source}, {"effective_mass", masses}}},
              {"deep",
               {{"source_time", source}, {"channels", {{{"name", "a"}, {"re", absolute}, {"momentum", {0, 0, 1}}}}}}}}},
            {"gauge", {{"plaquette", absolute[0]}}},
            {"lattice", {{"dims", {4, 4, 4, extent}}}},
            {"warnings", Json::array()}};
  }

  std::mt19937_64 random_{testing::next_seed()};
};

double mean_at(const Measurements& rows, std::size_t t) {
  double sum = 0;
  for (const auto& row : rows) sum += row[t];
  return sum / double(rows.size());
}

std::vector<double> history(const Measurements& rows, std::size_t t) {
  std::vector<double> out;
  for (const auto& row : rows) out.push_back(row[t]);
  return out;
}

double error_at(const Measurements& rows, std::size_t t) {
  double sum = 0;
  for (const auto& row : rows) sum += std::pow(row[t] - mean_at(rows, t), 2);
  return std::sqrt(sum / double(rows.size() * (rows.size() - 1)));
}

TEST_F(Averages, OfEveryListAfterItsSource) {
  Measurements rows;
  std::vector<Json> all;
  for (std::size_t k = 0; k < 12; ++k) {
    rows.push_back(pion());
    all.push_back(results(rows.back(), std::uniform_int_distribution<std::size_t>(0, extent - 1)(random_)));
  }
  const Json found = averages(all, {});
  EXPECT_EQ(found["configurations"], 12);
  EXPECT_EQ(found["bins"], 12);
  for (const Json& list : {found["correlators"]["light"]["pion"], found["correlators"]["deep"]["channels"][0]["re"]}) {
    for (std::size_t t = 0; t < extent; ++t) {
      EXPECT_NEAR(list["mean"][t].get<double>(), mean_at(rows, t), 1e-13 * mean_at(rows, t));
      EXPECT_NEAR(list["error"][t].get<double>(), error_at(rows, t), 1e-12);
      const quenched::ChainMean chain = quenched::chain_mean(history(rows, t));
      for (const auto& [key, value] : {std::pair("tau_int", chain.tau_int), {"gamma_error", chain.error}}) {
        EXPECT_EQ(list[key][t], std::isnan(value) ? Json(nullptr) : Json(value)) << key;
      }
    }
    EXPECT_EQ(list["configurations"], 12);
    EXPECT_FALSE(list.contains("bootstrap_error"));
  }
  EXPECT_EQ(found["correlators"]["deep"]["channels"][0]["name"], "a");
  EXPECT_EQ(found["correlators"]["deep"]["channels"][0]["momentum"], Json({0, 0, 1}));
}

TEST_F(Averages, TheEffectiveMassIsThatOfTheMean) {
  Measurements rows;
  std::vector<Json> all;
  for (std::size_t k = 0; k < 9; ++k) all.push_back(results(rows.emplace_back(pion()), 3));
  const Json mass = averages(all, {})["correlators"]["light"]["effective_mass"];
  std::vector<double> mean;
  for (std::size_t t = 0; t < extent; ++t) mean.push_back(mean_at(rows, t));
  const std::vector<double> wanted = effective_masses(mean, 0);
  ASSERT_EQ(mass["mean"].size(), extent / 2);
  for (std::size_t t = 0; t < extent / 2; ++t) {
    EXPECT_NEAR(mass["mean"][t].get<double>(), wanted[t], 1e-12);
    // The masses are between 0.4 and 0.5: the deviation of their mean cannot be larger than this.
    EXPECT_LT(mass["error"][t].get<double>(), 0.06);
    EXPECT_GT(mass["error"][t].get<double>(), 1e-4);
  }
}

TEST_F(Averages, AChannelHasTheMassesOfItsCorrelatorAtRest) {
  Measurements rows;
  std::vector<Json> all;
  for (std::size_t k = 0; k < 5; ++k) {
    all.push_back(results(rows.emplace_back(pion()), 0));
    std::vector<double> negative(rows.back());
    for (double& value : negative) value = -value;
    const Json at_rest = {{"momentum", {0, 0, 0}}, {"re", negative}},
               moving = {{"momentum", {0, 0, 1}}, {"re", pion()}};
    all.back()["correlators"] = {
        {"m",
         {{"source_time", 0},
          {"channels", {{"a0", {{"correlators", {at_rest, moving}}, {"effective_mass", {nullptr, nullptr}}}}}}}}};
  }
  std::vector<double> mean;
  for (std::size_t t = 0; t < extent; ++t) mean.push_back(mean_at(rows, t));
  const std::vector<double> wanted = effective_masses(mean, 0);
  const Json channel = averages(all, {})["correlators"]["m"]["channels"]["a0"];
  for (std::size_t t = 0; t < extent / 2; ++t) {
    EXPECT_NEAR(channel["effective_mass"]["mean"][t].get<double>(), wanted[t], 1e-12);
    EXPECT_NEAR(channel["correlators"][0]["re"]["mean"][t].get<double>(), -mean[t], 1e-13);
  }
  EXPECT_EQ(channel["correlators"][1]["momentum"], Json({0, 0, 1}));
}

TEST_F(Averages, LeaveOutWhatWasNotSolved) {
  Measurements rows;
  std::vector<Json> all;
  for (std::size_t k = 0; k < 6; ++k) all.push_back(results(rows.emplace_back(pion()), 0));
  const std::size_t unsolved = std::uniform_int_distribution<std::size_t>(0, 5)(random_);
  Json& pion = all[unsolved]["correlators"]["light"]["pion"];
  for (Json& value : pion) value = nullptr;
  rows.erase(rows.begin() + std::ptrdiff_t(unsolved));
  const Json light = averages(all, {})["correlators"]["light"];
  EXPECT_EQ(light["pion"]["configurations"], 5);
  for (std::size_t t = 0; t < extent; ++t) {
    EXPECT_NEAR(light["pion"]["mean"][t].get<double>(), mean_at(rows, t), 1e-13 * mean_at(rows, t));
  }
  const auto lists = correlator_rows(all);
  ASSERT_EQ(lists.size(), 2u);
  EXPECT_EQ(lists[0].path, "light/pion");
  EXPECT_EQ(lists[1].path, "deep/channels/0/re");
  for (std::size_t k = 0; k < 6; ++k) EXPECT_EQ(std::isnan(lists[0].rows[k][2]), k == unsolved);
  EXPECT_EQ(lists[1].rows[unsolved],
            all[unsolved]["correlators"]["deep"]["channels"][0]["re"].get<std::vector<double>>());
}

TEST_F(Averages, NumbersOfOtherTasks) {
  Measurements rows;
  std::vector<Json> all;
  for (std::size_t k = 0; k < 7; ++k) {
    rows.push_back({uniform(1, 2), uniform(2, 3), uniform(3, 4)});
    all.push_back(results(pion(), 0));
    all.back()["flows"] = {{"f",
                            {{"t0", rows[k][0]},
                             {"step", 0.02},
                             {"w0", k == 2 ? Json(nullptr) : Json(rows[k][1])},
                             {"time", {0.0, 0.1}},
                             {"energy", {rows[k][1], rows[k][2]}},
                             {"ragged", std::vector<double>(k + 1, 1.0)},
                             {"type", k == 0 ? "a" : "b"},
                             {"points", {{{"x", rows[k][2]}}}},
                             {"seconds_per_step", uniform(0, 1)}}}};
    all.back()["studies"] = {{"s", {{"x", rows[k][0]}}}};
  }
  const Json found = averages(all, {})["blocks"];
  EXPECT_EQ(found.size(), 1u);
  const Json flow = found["flows"]["f"];
  EXPECT_NEAR(flow["t0"]["mean"].get<double>(), mean_at(rows, 0), 1e-13);
  EXPECT_NEAR(flow["t0"]["error"].get<double>(), error_at(rows, 0), 1e-12);
  EXPECT_NEAR(flow["energy"]["mean"][1].get<double>(), mean_at(rows, 2), 1e-13);
  EXPECT_NEAR(flow["points"][0]["x"]["error"].get<double>(), error_at(rows, 2), 1e-12);
  EXPECT_EQ(flow["step"], 0.02);
  EXPECT_EQ(flow["time"], Json({0.0, 0.1}));
  EXPECT_TRUE(flow["ragged"].is_null());
  EXPECT_TRUE(flow["type"].is_null());
  EXPECT_FALSE(flow.contains("seconds_per_step"));
  rows.erase(rows.begin() + 2);
  EXPECT_EQ(flow["w0"]["configurations"], 6);
  EXPECT_NEAR(flow["w0"]["mean"].get<double>(), mean_at(rows, 1), 1e-13);
}

TEST_F(Averages, OneConfigurationHasNoErrors) {
  const Json found = averages({results(pion(), 1)}, {.bootstrap = 10});
  EXPECT_TRUE(found["plaquette"]["error"].is_null());
  EXPECT_TRUE(found["plaquette"]["bootstrap_error"].is_null());
  for (const Json& error : found["correlators"]["light"]["pion"]["error"]) EXPECT_TRUE(error.is_null());
  EXPECT_TRUE(found["plaquette"]["mean"].is_number());
}

TEST_F(Averages, BinsAndBootstrapAreAsAsked) {
  std::vector<Json> all;
  for (std::size_t k = 0; k < 13; ++k) all.push_back(results(pion(), 1));
  const Json found = averages(all, {.bin = 3, .bootstrap = 20, .seed = 5});
  EXPECT_EQ(found["bins"], 4);
  EXPECT_EQ(found["bootstrap"], Json({{"samples", 20}, {"seed", 5}}));
  EXPECT_GT(found["plaquette"]["bootstrap_error"].get<double>(), 0);
  EXPECT_EQ(averages(all, {.bin = 3, .bootstrap = 20, .seed = 5}), found);
  EXPECT_NE(averages(all, {.bin = 3, .bootstrap = 20, .seed = 6}), found);
  EXPECT_NE(averages(all, {.bin = 1, .bootstrap = 20, .seed = 5})["plaquette"]["error"], found["plaquette"]["error"]);
}

}  // namespace
}  // namespace quadrille
