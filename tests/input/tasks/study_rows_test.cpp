// The rows of a solver study: means, ratios and their two written forms, from made-up reports.
#include "input/tasks/study_rows.h"

#include "core/system/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace quadrille {
namespace {

using Json = nlohmann::ordered_json;

SolveReport report(int iterations, double seconds, bool converged = true) {
  SolveReport out;
  out.iterations = iterations;
  out.seconds = seconds;
  out.flops = 1e9 * seconds;
  out.converged = converged;
  out.stop_reason = converged ? StopReason::converged : StopReason::stagnated;
  out.residual = 1e-11 * iterations;
  return out;
}

StudyRow row(double mass, const std::string& type, Scheme scheme, std::vector<SolveReport> reports) {
  StudyRow out;
  out.mass = mass;
  out.kappa = 0.5 / (mass + 4);
  out.method = out.spec.type = type;
  out.spec.scheme = scheme;
  out.spec.reconstruct = Reconstruct::R12;
  out.reports = std::move(reports);
  return out;
}

std::vector<StudyRow> rows() {
  return {row(0.1, "cg", Scheme::uniform, {report(100, 2), report(110, 4)}),
          row(0.1, "cg", Scheme::reliable, {report(105, 1), report(126, 0.5)}),
          row(0.1, "bicgstab", Scheme::uniform, {report(50, 1.5)}),
          row(0.1, "bicgstab", Scheme::defect, {report(60, 0.5), report(70, 0.5, false)}),
          row(0.2, "cg", Scheme::uniform, {report(90, 8, false)}),
          row(0.2, "cg", Scheme::reliable, {report(90, 4)})};
}

TEST(StudyRows, MeansAndRatios) {
  const Json json = study_json(rows());
  ASSERT_EQ(json.size(), 6u);
  EXPECT_EQ(json[0]["iterations"], 105.0);
  EXPECT_EQ(json[0]["iterations_min"], 100);
  EXPECT_EQ(json[0]["iterations_max"], 110);
  EXPECT_EQ(json[0]["seconds"], 3.0);
  EXPECT_EQ(json[0]["gflops"], 1.0);
  EXPECT_EQ(json[0]["residual"], 110 * 1e-11) << "the worst one";
  EXPECT_EQ(json[0]["speedup"], 1.0);
  EXPECT_EQ(json[0]["speedup_best"], 0.5) << "BiCGstab takes 1.5 s";
  EXPECT_TRUE(json[0]["inner"].is_null());
  EXPECT_TRUE(json[0]["delta"].is_null());
  EXPECT_EQ(json[1]["speedup"], 4.0);
  EXPECT_EQ(json[1]["speedup_best"], 2.0);
  EXPECT_EQ(json[1]["iteration_ratio"], 115.5 / 105);
  EXPECT_EQ(json[1]["inner"], "single 12");
}

TEST(StudyRows, WhatDidNotConvergeIsComparedWithNothing) {
  const Json json = study_json(rows());
  EXPECT_EQ(json[3]["converged"], false);
  EXPECT_EQ(json[3]["stop_reason"], "stagnated");
  for (const std::size_t k : {3u, 4u, 5u}) {
    EXPECT_TRUE(json[k]["speedup"].is_null()) << k;
    EXPECT_TRUE(json[k]["speedup_best"].is_null()) << k;
    EXPECT_TRUE(json[k]["iteration_ratio"].is_null()) << k;
  }
  EXPECT_EQ(json[5]["converged"], true);
}

TEST(StudyRows, CommaSeparated) {
  Json json = study_json(rows());
  json[1]["residual"] = NAN;
  const std::string text = csv_of_rows(json);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7);
  EXPECT_THAT(text, ::testing::StartsWith("mass,kappa,tolerance,solver,scheme,outer,inner,delta,sources,converged,"));
  EXPECT_THAT(text,
              ::testing::HasSubstr("\n0.2,0.11904761904761904,1e-10,cg,uniform,double 12,,,1,false,stagnated,90.0,"));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("null")));
  EXPECT_THAT(text, ::testing::Not(::testing::HasSubstr("nan")));
}

TEST(StudyRows, LongHistoriesAreThinnedButKeepTrueResiduals) {
  StudyRow one = rows()[0];
  constexpr int length = 12345;
  std::vector<int> computed = {0, 7, 4321, 12300, length};
  for (int k = 0; k <= length; ++k) {
    const bool known = std::count(computed.begin(), computed.end(), k) > 0;
    one.reports[0].history.push_back({k, std::exp(-1e-3 * k), known ? 0.5 : NAN});
  }
  thin_history(one.reports[0].history);
  const Json points = study_history(one)["points"];
  EXPECT_LE(points.size(), 510u);
  EXPECT_GE(points.size(), 450u);
  std::vector<int> kept;
  for (const Json& point : points) {
    if (!point[2].is_null()) kept.push_back(point[0]);
    EXPECT_EQ(point[1], std::exp(-1e-3 * point[0].get<int>()));
  }
  EXPECT_EQ(kept, computed);
}

TEST(StudyRows, WhatWasSolvedComesBack) {
  std::vector<StudyRow> before = rows();
  for (StudyRow& one : before) {
    one.setup_seconds = 0.25;
    one.reports[0].history = {{0, 1, 1}, {1, 0.1, NAN}, {2, 0.01, 0.011}};
    one.reports[0].reliable_updates = 3;
    one.reports[0].restarts = 2;
    one.reports[0].message = "a message";
  }
  std::vector<StudyRow> after = rows();
  for (std::size_t k = 0; k < after.size(); ++k) {
    for (SolveReport& report : after[k].reports) report = {};
    restore_solved(after[k], Json::parse(solved_json(before[k]).dump()));
    EXPECT_EQ(study_history(after[k]), study_history(before[k]));
    EXPECT_EQ(after[k].reports[0].message, "a message");
  }
  EXPECT_EQ(study_json(after), study_json(before));
}

}  // namespace
}  // namespace quadrille
