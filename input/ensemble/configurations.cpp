#include "input/ensemble/configurations.h"

#include "input/run/outputs.h"

#include <fmt/format.h>

#include <glob.h>

#include <algorithm>
#include <cctype>
#include <map>

namespace quadrille {

namespace {

namespace fs = std::filesystem;

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// The row of digits of `text` that begins at `at`, without leading zeros; `at` moves behind it.
std::string_view digits_at(const std::string& text, std::size_t& at) {
  while (at < text.size() && text[at] == '0') ++at;
  const std::size_t first = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return std::string_view(text).substr(first, at - first);
}

bool is_pattern(const std::string& name) { return name.find_first_of("*?[") != name.npos; }

/// `text` as a pattern that it alone matches.
std::string literally(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// Names, as a job would have them, of the files that match a pattern of the job, in natural order.
std::vector<std::string> matches(const Job& job, const std::string& pattern) {
  const std::string folder = fs::path(pattern).is_absolute() ? "" : job.input_path("").string();
  glob_t found{};
  const int failed = ::glob((literally(folder) + pattern).c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> names;
  for (std::size_t k = 0; failed == 0 && k < found.gl_pathc; ++k) {
    const std::string path = found.gl_pathv[k];
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) names.push_back(path.substr(folder.size()));
  }
  ::globfree(&found);
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::vector<Configuration> listed(const Job& job, std::vector<Error>& errors) {
  std::vector<Configuration> out;
  for (const Parameters::Item& item : job.gauge->list("files")) {
    const std::string& name = std::get<std::string>(item.scalar);
    std::error_code ignored;
    if (!is_pattern(name) || fs::exists(job.input_path(name), ignored)) {
      out.push_back({{}, name, item.where});
      continue;
    }
    const std::vector<std::string> names = matches(job, name);
    if (names.empty()) {
      errors.emplace_back(ErrorCode::file,
                          fmt::format("'gauge.files': no file matches '{}'", job.input_path(name).string()),
                          item.where);
    }
    for (const std::string& one : names) out.push_back({{}, one, item.where});
  }
  return out;
}

std::vector<Configuration> saved(const Job& job, const fs::path& place, std::vector<Error>& errors) {
  const Location& where = job.ensemble->where("from");
  const std::string& name = job.ensemble->text("from");
  const auto maker =
      std::find_if(job.run.begin(), job.run.end(), [&](const TaskSpec& task) { return task.name == name; });
  // A job names its inputs relative to itself.
  const fs::path home = one_spelling(job.input_path("."));
  std::vector<Configuration> out;
  for (const std::string& file : output_names(*maker)) {
    out.push_back({{}, one_spelling(place / file).lexically_proximate(home).string(), where});
  }
  if (out.empty()) {
    errors.emplace_back(ErrorCode::invalid_input,
                        fmt::format("the task '{}' saves no configurations for the tasks after it: give it 'save', "
                                    "such as save: b_####.lime",
                                    name),
                        where);
  }
  return out;
}

void check_twins(const Job& job, const std::vector<Configuration>& all, std::vector<Error>& errors) {
  std::map<fs::path, const Configuration*> known;
  for (const Configuration& one : all) {
    const auto [twin, is_new] = known.emplace(one_spelling(job.input_path(one.file)), &one);
    if (is_new) continue;
    errors.emplace_back(ErrorCode::invalid_input,
                        fmt::format("'gauge.files': '{}' is the same file as '{}' ({}): each configuration counts once",
                                    one.file, twin->second->file, to_string(twin->second->where)),
                        one.where);
  }
}

void give_names(std::vector<Configuration>& all) {
  std::map<std::string, int> times;
  for (Configuration& one : all) {
    one.name = fs::path(one.file).filename().string();
    ++times[one.name];
  }
  for (Configuration& one : all) {
    if (times[one.name] > 1) one.name += "." + text_hash(one.file).substr(0, 8);
  }
}

}  // namespace

bool natural_less(const std::string& a, const std::string& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
      continue;
    }
    const std::string_view mine = digits_at(a, i), other = digits_at(b, j);
    if (mine.size() != other.size()) return mine.size() < other.size();
    if (mine != other) return mine < other;
  }
  if (i < a.size() || j < b.size()) return j < b.size();
  return a < b;  // they differ in leading zeros alone
}

std::vector<Configuration> list_configurations(const Job& job, const fs::path& place, std::vector<Error>& errors) {
  std::vector<Configuration> all = job.ensemble->has("from") ? saved(job, place, errors) : listed(job, errors);
  check_twins(job, all, errors);
  give_names(all);
  return all;
}

std::string folder_of(const Configuration& configuration) { return "configurations/" + configuration.name; }

}  // namespace quadrille
