#include "input/commands/program.h"

#include "core/comm/agreement.h"
#include "core/comm/transport_name.h"
#include "core/parameters/parameters.h"
#include "core/system/memory.h"
#include "core/system/thread_count.h"
#include "input/bench/bench.h"
#include "input/commands/check.h"
#include "input/commands/convert.h"
#include "input/commands/info.h"
#include "input/commands/modules.h"
#include "input/commands/rank_program.h"
#include "input/commands/report.h"
#include "input/files/file_kind.h"
#include "input/job/document.h"
#include "input/job/overrides.h"
#include "input/job/reference.h"
#include "input/job/schema.h"
#include "input/run/run.h"
#include "input/run/stop_signal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <iostream>
#include <new>

namespace quadrille {

namespace {

constexpr int done = 0;
constexpr int failed = 1;
constexpr int usage_error = 2;

constexpr const char* about =
    "Lattice QCD with Wilson quarks: gauge configurations, quark propagators, pion correlators, in mixed precision.";

struct Call {
  RunOptions run;
  std::string check_backend;  ///< empty: a job may run on any
  std::string file;
  ConvertOptions convert;
  ReportOptions report;
  bool reference = false;
  std::vector<std::string> topic;
  BenchOptions bench;
};

std::string suggestion(const std::string& word, const std::vector<std::string>& names) {
  const std::string near = nearest_name(word, names);
  return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto problem = [names](const std::string& text) -> std::string {
    if (std::find(names.begin(), names.end(), text) != names.end()) return {};
    return fmt::format("'{}' is not one of {}{}", text, fmt::join(names, ", "), suggestion(text, names));
  };
  return {problem, fmt::format("{{{}}}", fmt::join(names, ","))};
}

CLI::Validator whole_number(int least, int most) {
  const auto problem = [least, most](const std::string& text) -> std::string {
    int number = 0;
    if (CLI::detail::lexical_cast(text, number) && number >= least && number <= most) return {};
    return fmt::format("'{}' is not a whole number from {} to {}", text, least, most);
  };
  return {problem, fmt::format("{} to {}", least, most)};
}

void add_set_option(CLI::App& command, RunOptions& options) {
  command.add_option("--set", options.overrides, "Change the job: run[0].source.site=[1,2,3,5]; null removes a key")
      ->type_name("KEY=VALUE")
      ->type_size(1)
      ->allow_extra_args(false)
      ->take_all();
}

void add_module_option(CLI::App& command, RunOptions& options) {
  command
      .add_option("--allow-module", options.allowed_modules, "Permit a shared object that the job's `modules` names")
      ->type_name("PATH")
      ->type_size(1)
      ->allow_extra_args(false)
      ->take_all();
}

void add_backend_option(CLI::App& command, std::string& backend, const std::string& help) {
  command.add_option("--backend", backend, help)->type_name("NAME")->check(one_of({"auto", "cpu", "cuda"}));
}

void add_machine_options(CLI::App& command, std::string& backend, int& threads) {
  add_backend_option(command, backend, "auto (cuda if there is a usable GPU, else cpu), cpu or cuda");
  command.add_option("--threads", threads, "Number of threads; default: OMP_NUM_THREADS, or all cores")
      ->type_name("N")
      ->check(whole_number(1, most_threads));
}

void add_grid_option(CLI::App& command, RankGrid& grid) {
  command.add_option("--grid", grid.wanted, "Ranks along x, y, z, t; default: the grid with the least communication")
      ->type_name("X Y Z T")
      ->check(whole_number(1, 1 << 20));
}

/// The message for an extent that is no whole number; empty for one that is.
std::string whole_number_problem(const std::string& text) {
  int number = 0;
  if (CLI::detail::lexical_cast(text, number)) return {};
  return fmt::format("'{}' is not an extent: give four positive even numbers X Y Z T", text);
}

void describe_bench(CLI::App& command, BenchOptions& options) {
  command.add_option("WHAT", options.what, "One of " + fmt::format("{}", fmt::join(bench_names(), ", ")))
      ->required()
      ->type_name("")
      ->check(one_of(bench_names()));
  command
      .add_option(
          "--dims", options.dims,
          "Lattice; may be given several times; default: 8 8 8 16, 16 16 16 32 and 24 24 24 48 (accuracy: the first)")
      ->type_name("X Y Z T")
      ->check(CLI::Validator(whole_number_problem, ""));
  command
      .add_option_function<std::string>(
          "--precision", [&](const std::string& name) { options.precision = parse_precision(name); },
          "double, single or half; default: all")
      ->type_name("NAME")
      ->check(one_of({"double", "single", "half"}));
  command
      .add_option_function<std::string>(
          "--reconstruct", [&](const std::string& name) { options.reconstruct = parse_reconstruct(name); },
          "Real numbers per link: 18, 12 or 8; default: all")
      ->type_name("N")
      ->check(one_of({"18", "12", "8"}));
  command
      .add_option("--rhs", options.rhs,
                  "Right-hand sides of each call, for dslash and operator: GFLOP/s are summed over them; default: 1")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
  add_machine_options(command, options.backend, options.threads);
  add_grid_option(command, options.grid);
  command.add_option("--json", options.json, "Also write the results to FILE")->type_name("FILE");
  command
      .add_option("--memory-mib", options.memory_mib,
                  "Size of the arrays for the memory bandwidth, in MiB; default: 256")
      ->type_name("N")
      ->check(whole_number(1, 1 << 20));
}

void describe(CLI::App& app, Call& call) {
  app.set_version_flag("--version", std::string("quadrille ") + QUADRILLE_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  app.footer(
      "Exit status: 0 success, 1 error, 2 usage error, 3 not converged, 130, 143 or 138 stopped by SIGINT, "
      "SIGTERM or SIGUSR1.");

  CLI::App& run = *app.add_subcommand("run", "Run a job; results go to DIR/results.json");
  run.add_option("JOB", call.run.job, "The job, a YAML file")->required()->type_name("");
  run.add_option("--out", call.run.out, "Output folder; default: JOB.out (without .yaml) beside the job")
      ->type_name("DIR");
  add_set_option(run, call.run);
  add_machine_options(run, call.run.backend, call.run.threads);
  add_grid_option(run, call.run.grid);
  add_module_option(run, call.run);
  run.add_flag("--force", call.run.rules.force,
               "Start from scratch: remove what an earlier run wrote into the output folder");
  run.add_flag("--confine", call.run.rules.confine,
               "Refuse outputs outside of the output folder: absolute paths, '..', symbolic links");

  CLI::App& check = *app.add_subcommand("check", "Validate a job: report every error, write nothing");
  check.add_option("JOB", call.run.job, "The job, a YAML file")->required()->type_name("");
  add_set_option(check, call.run);
  add_module_option(check, call.run);
  add_backend_option(check, call.check_backend, "Check for this backend: auto, cpu or cuda; default: any");

  CLI::App& info = *app.add_subcommand("info", "Describe a file: a gauge field, a propagator, a matrix");
  info.add_option("FILE", call.file, "The file")->required()->type_name("");

  CLI::App& convert = *app.add_subcommand("convert", "Write a gauge field in another format");
  convert.add_option("IN", call.convert.in, "A gauge field in any format that `info` knows")->required()->type_name("");
  convert.add_option("OUT", call.convert.out, "The file to write")->required()->type_name("");
  convert.add_option("--format", call.convert.format, "Format of OUT")
      ->required()
      ->type_name("NAME")
      ->check(one_of(written_formats()));
  convert
      .add_option_function<std::string>(
          "--precision", [&](const std::string& name) { call.convert.precision = name == "single" ? 32 : 64; },
          "single or double; default: that of IN (milc: single, openqcd: double)")
      ->type_name("NAME")
      ->check(one_of({"single", "double"}));
  convert.add_option("--rows", call.convert.rows, "Rows of each link, of nersc: 2 (default) or 3")
      ->type_name("N")
      ->check(whole_number(2, 3));
  convert.add_flag("--force", call.convert.force, "Replace OUT if it exists");

  CLI::App& bench = *app.add_subcommand("bench", "Measure kernels and solvers: speed and accuracy");
  describe_bench(bench, call.bench);
  std::string benches = "What is measured:\n";
  for (const auto& [name, what] : bench_help()) benches += fmt::format("  {:<12}{}\n", name, what);
  bench.footer(benches);
  CLI::App& report = *app.add_subcommand("report", "Tables and figures of results: DIR/report.html, and DIR/report.md");
  report
      .add_option("RESULTS", call.report.results,
                  "results.json of a job, its output folder, or a JSON file of bench; of several, the solver studies "
                  "are averaged")
      ->required()
      ->type_name("");
  report.add_option("--out", call.report.out, "Folder for the report; default: `report` beside the results")
      ->type_name("DIR");
  report
      .add_option("--memory", call.report.memory,
                  "What `bench memory --json FILE` wrote on the machine of the job: rates of solves in percent of it")
      ->type_name("FILE");
  report.add_option("--format", call.report.format, "Format of the figures beside report.md: svg or png")
      ->type_name("NAME")
      ->check(one_of({"svg", "png"}));

  CLI::App& help = *app.add_subcommand("help", "Explain a block of a job or a command, as in: help operator wilson");
  help.add_option("TOPIC", call.topic,
                  "BLOCK [NAME], a command, formats, or any word of a job; without it, a list of the blocks")
      ->type_name("");
  help.add_flag("--reference", call.reference, "Print all words of a job as one Markdown page");

  app.add_subcommand("modules", "List the available modules, with their versions and tasks");
  app.add_subcommand("schema", "Print a JSON Schema of job files, for editors");
}

/// Null when there is no command of that name.
const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* one : app.get_subcommands({})) {
    if (one->get_name() == name) return one;
  }
  return nullptr;
}

/// The formats of gauge fields; or, of one of them, what can be done with it.
std::string help_on_formats(const std::string& one) {
  std::string out;
  for (const std::string& name : written_formats()) {
    if (one.empty() || one == name) out += fmt::format("  {:<8}  {}\n", name, format_help(name));
  }
  if (out.empty()) return out;
  return "Formats of gauge fields, which are read wherever a job names a gauge file, and written by "
         "`quadrille convert IN OUT --format NAME`:\n" +
         out;
}

std::string help_on_commands(const CLI::App& app) {
  std::string out = "Commands (`quadrille help COMMAND` explains one):\n";
  for (const CLI::App* one : app.get_subcommands({})) {
    out += fmt::format("  {:<8}  {}\n", one->get_name(), one->get_description());
  }
  return out;
}

/// Of a block of a job; of a command; `run` is both; of the formats of gauge fields.
std::string help_on(const CLI::App& app, const std::vector<std::string>& topic) {
  if (topic.size() == 1) {
    if (topic[0] == "commands") return help_on_commands(app);
    const std::string formats = help_on_formats(topic[0] == "formats" ? "" : topic[0]);
    if (!topic[0].empty() && !formats.empty()) return formats;
  }
  const CLI::App* command = topic.size() == 1 ? find_command(app, topic[0]) : nullptr;
  if (command == nullptr) return help_text(topic);
  const std::string text = command->help(app.get_name());
  return topic[0] == "run" ? text + "\nThe block `run` of a job is a list of tasks:\n\n" + help_text(topic) : text;
}

/// What is wrong with a command line that CLI11 refuses.
std::string usage_problem(const CLI::App& app, const std::vector<std::string>& words, const CLI::ParseError& problem) {
  const CLI::App* command = find_command(app, words[0]);
  if (command == nullptr) {
    std::vector<std::string> names;
    for (const CLI::App* one : app.get_subcommands({})) names.push_back(one->get_name());
    if (words[0].starts_with('-')) return fmt::format("no option '{}' before a command", words[0]);
    const std::string near = suggestion(words[0], names);
    return fmt::format("no command '{}'{}", words[0],
                       near.empty() ? fmt::format("; the commands are {}", fmt::join(names, ", ")) : near);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&problem) != nullptr) {
    const std::string what = problem.what(), name = what.substr(0, what.find(':'));
    const CLI::Option* option = command->get_option_no_throw(name);
    const std::string type = option == nullptr ? "" : option->get_type_name();
    if (!type.empty()) return fmt::format("{} needs {}", name, type.substr(0, type.find(':')));
  }
  const std::vector<std::string> extras = app.remaining(true);
  if (dynamic_cast<const CLI::ExtrasError*>(&problem) == nullptr || extras.empty()) return problem.what();
  if (!extras[0].starts_with('-')) return fmt::format("{}: unexpected argument '{}'", words[0], extras[0]);
  std::vector<std::string> names;
  for (const CLI::Option* option : command->get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  const std::string given = extras[0].substr(0, extras[0].find('='));
  return fmt::format("{} has no option '{}'{}", words[0], given, suggestion(given, names));
}

int dispatch(const CLI::App& app, const Call& call, std::ostream& out, std::ostream& err) {
  // One process needs none, but a wrong name is wrong on any number of ranks.
  if (app.got_subcommand("run") || app.got_subcommand("bench")) (void)named_transport(*call.run.grid.all());
  if (app.got_subcommand("run")) return run_job(call.run, out, err);
  if (app.got_subcommand("bench")) run_bench(call.bench, out);
  if (!call.run.grid.first()) return done;  // what follows needs no more than one rank
  if (app.got_subcommand("check")) {
    return check(call.run.job, call.run.overrides, call.run.allowed_modules, call.check_backend, out, err);
  }
  if (app.got_subcommand("info")) info(call.file, out);
  if (app.got_subcommand("convert")) convert_file(call.convert, out);
  if (app.got_subcommand("report")) return report(call.report);
  if (app.got_subcommand("modules")) return list_modules(out);
  if (app.got_subcommand("schema")) out << job_schema().dump(2) << '\n';
  if (app.got_subcommand("help")) {
    try {
      out << (call.reference ? reference_page() : help_on(app, call.topic));
    } catch (const Error& error) {
      throw WrongCall(error.code(), error.message());
    }
  }
  return done;
}

}  // namespace

int run_program(const std::vector<std::string>& words, std::ostream& out, std::ostream& err, Ranks* ranks) {
  CLI::App app(about, "quadrille");
  Call call;
  call.run.grid.ranks = call.bench.grid.ranks = ranks;
  describe(app, call);
  try {
    if (words.empty()) {
      err << app.help();
      return usage_error;
    }
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // CLI11 takes them last first
    const int status = dispatch(app, call, out, err);
    if (!out.flush()) throw Error(ErrorCode::file, "writing to standard output failed");
    return status;
  } catch (const CLI::ParseError& problem) {
    if (problem.get_exit_code() == 0) return app.exit(problem, out, err);  // --help and --version
    const bool known = find_command(app, words[0]) != nullptr;
    print_error(err, fmt::format("{} (see quadrille {}--help)", usage_problem(app, words, problem),
                                 known ? words[0] + " " : ""));
    return usage_error;
  } catch (const WrongCall& error) {
    print_error(err, error.what());
    return usage_error;
  } catch (const Stopped& stopped) {
    err << "quadrille: " << stopped.what() << std::endl;
    return stopped.exit_status();
  } catch (const FailedElsewhere&) {  // that rank says why
  } catch (const std::bad_alloc&) {
    print_error(err, no_memory_text());
  } catch (const std::length_error&) {
    print_error(err, no_memory_text());
  } catch (const std::exception& error) {
    out.flush();  // what was found before
    print_error(err, error.what());
  }
  return failed;
}

int run_program(int argc, char** argv) {
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  try {
    const std::unique_ptr<Ranks> ranks = join_ranks();
    if (ranks && ranks->size() > 1) return run_on_ranks(*ranks, words);
    return run_program(words, std::cout, std::cerr);
  } catch (const Error& error) {
    print_error(std::cerr, error.what());
    return failed;
  }
}

}  // namespace quadrille
