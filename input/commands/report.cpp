#include "input/commands/report.h"

#include "core/error.h"
#include "input/run/outputs.h"
#include "modules/shared/plugin/loader.h"

#include <fmt/format.h>

#include <spawn.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace quadrille {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& file) {
  throw Error(ErrorCode::file, what, Location{file, 0, 0, {}, -1});
}

/// Runs a program found on PATH; gives its exit status.
int run_program_on_path(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t process = 0;
  const int failed = posix_spawnp(&process, arguments[0], nullptr, nullptr, arguments.data(), environ);
  if (failed != 0) {
    throw Error(ErrorCode::file,
                fmt::format("cannot run '{}' ({}): `quadrille report` needs Python 3; set QUADRILLE_PYTHON to one",
                            words[0], std::strerror(failed)));
  }
  int status = 0;
  while (waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace

fs::path report_folder(const fs::path& program) {
  const fs::path here = program.parent_path() / "share/quadrille/report";
  const fs::path beside = program.parent_path().parent_path() / "share/quadrille/report";
  for (const fs::path& folder : {here, beside}) {
    if (fs::exists(folder / "report.py")) return folder;
  }
  throw Error(ErrorCode::file, fmt::format("the report scripts are neither in {} nor in {}: reinstall Quadrille",
                                           here.string(), beside.string()));
}

namespace {

/// First that of the library's own.
std::vector<fs::path> report_folders_of_modules(const fs::path& scripts) {
  std::vector<fs::path> folders = {scripts.parent_path() / "module_reports"};
  for (const std::string& folder : module_path()) folders.push_back(fs::path(folder) / "report");
  return folders;
}

}  // namespace

namespace {

/// The file that `given` names, or that is in the folder which it names.
fs::path results_file(const std::string& given) {
  fs::path results = given;
  if (fs::is_directory(results)) results /= "results.json";
  if (!fs::exists(results))
    fail("no such file: give the results.json of a job, its output folder, or a JSON file of bench", results.string());
  if (results.extension() == ".yaml" || results.extension() == ".yml")
    fail(fmt::format("this is a job, not its results: give its output folder ({} by default)",
                     default_output_folder(results.string()).string()),
         results.string());
  return results;
}

}  // namespace

int report(const ReportOptions& options) {
  std::vector<std::string> files;
  for (const std::string& given : options.results) files.push_back(results_file(given).string());
  if (files.size() > 1 && options.out.empty()) {
    throw Error(ErrorCode::invalid_input, "a report of several results needs a folder of its own: --out DIR");
  }
  const fs::path out = options.out.empty() ? fs::path(files.front()).parent_path() / "report" : fs::path(options.out);
  const fs::path script = report_folder(fs::read_symlink("/proc/self/exe")) / "report.py";
  const char* python = std::getenv("QUADRILLE_PYTHON");
  std::vector<std::string> words = {python && *python ? python : "python3", script.string()};
  words.insert(words.end(), files.begin(), files.end());
  words.insert(words.end(), {"--out", out.string(), "--format", options.format});
  if (!options.memory.empty()) words.insert(words.end(), {"--memory", options.memory});
  words.push_back("--modules");
  for (const fs::path& folder : report_folders_of_modules(script.parent_path())) words.push_back(folder.string());
  return run_program_on_path(std::move(words));
}

}  // namespace quadrille
