#include "input/tasks/study_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace quadrille {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::size_t points_kept = 500;
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

bool converged(const StudyRow& row) {
  return std::all_of(row.reports.begin(), row.reports.end(), [](const SolveReport& r) { return r.converged; });
}

template <class Number>
double mean(const StudyRow& row, Number SolveReport::*what) {
  double sum = 0;
  for (const SolveReport& report : row.reports) sum += double(report.*what);
  return sum / double(row.reports.size());
}

/// The reason of the first solve that did not converge, or "converged".
StopReason stop_reason(const StudyRow& row) {
  for (const SolveReport& report : row.reports) {
    if (!report.converged) return report.stop_reason;
  }
  return StopReason::converged;
}

double worst_residual(const StudyRow& row) {
  double worst = 0;
  for (const SolveReport& report : row.reports) {
    if (!(report.residual <= worst)) worst = report.residual;  // NaN is the worst
  }
  return worst;
}

Json label_json(const StudyRow& row) {
  const bool uniform = row.spec.scheme == Scheme::uniform;
  return {{"mass", row.mass},
          {"kappa", row.kappa},
          {"tolerance", row.spec.tolerance},
          {"solver", row.method},
          {"scheme", to_string(row.spec.scheme)},
          {"outer", to_string(row.spec.outer_form())},
          {"inner", uniform ? Json(nullptr) : Json(to_string(row.spec.sloppy))},
          {"delta", uniform ? Json(nullptr) : Json(row.spec.delta)}};
}

Json row_json(const StudyRow& row) {
  Json out = label_json(row);
  const auto [least, most] =
      std::minmax_element(row.reports.begin(), row.reports.end(),
                          [](const SolveReport& a, const SolveReport& b) { return a.iterations < b.iterations; });
  const double seconds = mean(row, &SolveReport::seconds);
  out["sources"] = row.reports.size();
  out["converged"] = converged(row);
  out["stop_reason"] = to_string(stop_reason(row));
  out["iterations"] = mean(row, &SolveReport::iterations);
  out["iterations_min"] = least->iterations;
  out["iterations_max"] = most->iterations;
  out["reliable_updates"] = mean(row, &SolveReport::reliable_updates);
  out["restarts"] = mean(row, &SolveReport::restarts);
  out["seconds"] = seconds;
  out["setup_seconds"] = row.setup_seconds;
  out["gflops"] = seconds > 0 ? mean(row, &SolveReport::flops) / seconds * 1e-9 : 0;
  out["residual"] = worst_residual(row);
  return out;
}

Json points_json(const std::vector<HistoryEntry>& history) {
  Json out = Json::array();
  for (const HistoryEntry& entry : history) {
    const bool computed = !std::isnan(entry.true_residual);
    out.push_back({entry.iteration, entry.iterated, computed ? Json(entry.true_residual) : Json(nullptr)});
  }
  return out;
}

bool same_system(const StudyRow& a, const StudyRow& b) {
  return a.mass == b.mass && a.spec.tolerance == b.spec.tolerance;
}

Json ratio(const StudyRow* above, const StudyRow* below, double (*value)(const StudyRow&)) {
  if (!above || !below || !converged(*above) || !converged(*below) || !(value(*below) > 0)) return nullptr;
  return value(*above) / value(*below);
}

double seconds_of(const StudyRow& row) { return mean(row, &SolveReport::seconds); }

/// The row of uniform double that `row` is compared with: null when it is not there or did not converge.
const StudyRow* uniform_twin(const StudyRow& row, const std::vector<StudyRow>& rows) {
  for (const StudyRow& other : rows) {
    if (other.spec.scheme == Scheme::uniform && same_system(row, other) && other.method == row.method) {
      return converged(other) ? &other : nullptr;
    }
  }
  return nullptr;
}

}  // namespace

double mean_iterations(const StudyRow& row) { return mean(row, &SolveReport::iterations); }

Json iteration_ratio(const StudyRow& row, const std::vector<StudyRow>& rows) {
  return ratio(&row, uniform_twin(row, rows), mean_iterations);
}

Json study_json(const std::vector<StudyRow>& rows) {
  Json out = Json::array();
  for (const StudyRow& row : rows) {
    const StudyRow* best = nullptr;
    for (const StudyRow& other : rows) {
      if (other.spec.scheme != Scheme::uniform || !same_system(row, other) || !converged(other)) continue;
      if (!best || seconds_of(other) < seconds_of(*best)) best = &other;
    }
    Json one = row_json(row);
    one["iteration_ratio"] = iteration_ratio(row, rows);
    one["speedup"] = ratio(uniform_twin(row, rows), &row, seconds_of);
    one["speedup_best"] = ratio(best, &row, seconds_of);
    out.push_back(std::move(one));
  }
  return out;
}

void thin_history(std::vector<HistoryEntry>& history) {
  const std::size_t step = (history.size() + points_kept - 1) / points_kept;
  std::size_t kept = 0;
  for (std::size_t k = 0; k < history.size(); ++k) {
    if (k % step == 0 || !std::isnan(history[k].true_residual)) history[kept++] = history[k];
  }
  history.resize(kept);
  history.shrink_to_fit();
}

Json study_history(const StudyRow& row) {
  Json out = label_json(row);
  out["points"] = points_json(row.reports.front().history);
  return out;
}

Json solved_json(const StudyRow& row) {
  Json reports = Json::array();
  for (const SolveReport& report : row.reports) {
    reports.push_back({{"iterations", report.iterations},
                       {"reliable_updates", report.reliable_updates},
                       {"restarts", report.restarts},
                       {"converged", report.converged},
                       {"stop_reason", int(report.stop_reason)},
                       {"message", report.message},
                       {"residual", report.residual},
                       {"seconds", report.seconds},
                       {"flops", report.flops}});
  }
  return {{"setup_seconds", row.setup_seconds},
          {"reports", std::move(reports)},
          {"points", points_json(row.reports.front().history)}};
}

void restore_solved(StudyRow& row, const Json& solved) {
  const auto number = [](const Json& value) { return value.is_null() ? no_number : value.get<double>(); };
  row.setup_seconds = solved.at("setup_seconds").get<double>();
  row.reports.clear();
  for (const Json& one : solved.at("reports")) {
    SolveReport report;
    one.at("iterations").get_to(report.iterations);
    one.at("reliable_updates").get_to(report.reliable_updates);
    one.at("restarts").get_to(report.restarts);
    one.at("converged").get_to(report.converged);
    report.stop_reason = StopReason(one.at("stop_reason").get<int>());
    one.at("message").get_to(report.message);
    report.residual = number(one.at("residual"));
    one.at("seconds").get_to(report.seconds);
    one.at("flops").get_to(report.flops);
    row.reports.push_back(std::move(report));
  }
  for (const Json& point : solved.at("points")) {
    row.reports.front().history.push_back({point[0].get<int>(), number(point[1]), number(point[2])});
  }
}

std::string row_name(const StudyRow& row) {
  std::string inner;
  if (row.spec.scheme != Scheme::uniform) {
    inner = fmt::format(" {}, delta {}", to_string(row.spec.sloppy), row.spec.delta);
  }
  return fmt::format("mass {}, tolerance {}: {} {}{}", row.mass, row.spec.tolerance, row.method,
                     to_string(row.spec.scheme), inner);
}

}  // namespace quadrille
