// Contexts, and what the library says of itself.
#include "core/comm/agreement.h"
#include "core/comm/process_grid.h"
#include "core/comm/transport_name.h"
#include "core/simd/isa.h"
#include "core/system/build_id.h"
#include "core/system/thread_count.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/job/blocks.h"
#include "input/job/document.h"
#include "input/job/schema.h"
#include "input/run/job_run.h"

#include <spdlog/sinks/base_sink.h>

#include <algorithm>
#include <functional>
#include <sstream>
#include <vector>

namespace quadrille::capi {

namespace {

/// Gives what is said to the host's function.
class CallbackSink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  explicit CallbackSink(Context& context) : context_(context) {}

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (context_.log_function == nullptr) return;
    context_.log_function(context_.log_user, level_of(message.level),
                          std::string(message.payload.data(), message.payload.size()).c_str());
  }
  void flush_() override {}

 private:
  static quadrille_log_level level_of(spdlog::level::level_enum level) {
    if (level >= spdlog::level::err) return QUADRILLE_LOG_ERROR;
    if (level == spdlog::level::warn) return QUADRILLE_LOG_WARNING;
    return level == spdlog::level::info ? QUADRILLE_LOG_INFO : QUADRILLE_LOG_DEBUG;
  }

  Context& context_;
};

spdlog::level::level_enum level_of(quadrille_log_level level) {
  switch (level) {
    case QUADRILLE_LOG_DEBUG: return spdlog::level::trace;
    case QUADRILLE_LOG_INFO: return spdlog::level::info;
    case QUADRILLE_LOG_WARNING: return spdlog::level::warn;
    case QUADRILLE_LOG_ERROR: return spdlog::level::err;
  }
  throw Error(ErrorCode::invalid_input, fmt::format("{} is not a log level; levels are 1 to 4", int(level)));
}

int threads_of(const Parameters& words) {
  (void)active_isa();  // an instruction set that this CPU or build lacks is an error here
  return words.has("threads") ? int(words.integer("threads")) : default_threads();
}

/// The GPU that the words name; -1 where they name none.
int device_of(const Parameters& words) { return words.has("device") ? int(words.integer("device")) : -1; }

/// Throws ErrorCode::unsupported where the words name a GPU but the backend works on the CPU.
void demand_device(const Backend& backend, const Parameters& words) {
  if (!words.has("device") || backend.ordinal() >= 0) return;
  throw Error(ErrorCode::unsupported, "'device' is the number of a GPU, but this context works on the CPU",
              words.where("device"));
}

std::shared_ptr<Context> make_context(const char* words) {
  const auto read = read_words(context_table(), words, "context");
  Backend& backend = find_backend(read->text("backend"), device_of(*read));
  demand_device(backend, *read);
  (void)named_transport(*single_process());  // as on several ranks
  return std::make_shared<Context>(backend, threads_of(*read), ContextRanks{});
}

/// Throws ErrorCode::invalid_input unless the words are right for this many ranks.
void check_grid(const Parameters& words, int ranks) {
  if (!words.has("grid")) {
    if (!words.has("place")) return;
    throw Error(ErrorCode::invalid_input, "`place` needs `grid`, the grid that it is a place in", words.where("place"));
  }
  const Dims grid = words.integer4("grid");
  if (volume(grid) != ranks) {
    throw Error(
        ErrorCode::invalid_input,
        fmt::format("the grid {} has {} ranks, but the communicator has {}", grid_text(grid), volume(grid), ranks),
        words.where("grid"));
  }
  if (!words.has("place")) return;
  const Dims place = words.integer4("place");
  for (std::size_t mu = 0; mu < 4; ++mu) {
    if (place[mu] >= grid[mu]) {
      throw Error(ErrorCode::invalid_input,
                  fmt::format("there is no place {} in the grid {}; they begin with 0 0 0 0", grid_text(place),
                              grid_text(grid)),
                  words.where("place"));
    }
  }
}

/// Ranks in the order of their places, where the host says them.
std::unique_ptr<Ranks> placed(std::unique_ptr<Ranks> ranks, const Communicator& all, const Parameters& words) {
  constexpr int unsaid = -1;
  int mine = unsaid;
  if (words.has("place")) {
    const Dims n = words.integer4("grid"), x = words.integer4("place");
    mine = ((x[3] * n[2] + x[2]) * n[1] + x[1]) * n[0] + x[0];
  }
  std::vector<int> of_ranks(std::size_t(ranks->size()));
  all.gather(&mine, sizeof mine, of_ranks.data());
  if (std::ranges::count(of_ranks, unsaid) == ranks->size()) return ranks;
  for (auto one = of_ranks.begin(); one != of_ranks.end(); ++one) {
    const auto same = std::find(of_ranks.begin(), one, *one);
    if (*one != unsaid && same == one) continue;
    const auto rank = one - of_ranks.begin();
    throw Error(ErrorCode::invalid_input,
                *one == unsaid
                    ? fmt::format("rank {} gives no 'place', but other ranks do: all or none must give one", rank)
                    : fmt::format("ranks {} and {} give the same 'place'", same - of_ranks.begin(), rank));
  }
  return ranks->numbered(mine);
}

std::shared_ptr<Context> make_context_on_ranks(const char* words, std::unique_ptr<Ranks> ranks) {
  const auto all = ranks->communicator({1, 1, 1, ranks->size()});
  std::shared_ptr<const Parameters> read;
  int threads = 0;
  all_or_none(*all, [&] {
    read = read_words(rank_context_table(), words, "context");
    check_grid(*read, ranks->size());
    threads = threads_of(*read);
  });
  ContextRanks on;
  on.grid.name = "grid";
  if (read->has("grid")) on.grid.wanted = read->integer4("grid");
  const std::string grid = on.grid.wanted ? grid_text(*on.grid.wanted) : "of the library's choice";
  if (!same_everywhere(*all, fmt::format("{} {} {}", build_id(), read->text("backend"), grid))) {
    throw Error(ErrorCode::invalid_input,
                "the ranks have different words for `backend` or `grid`, or are of different "
                "builds of Quadrille");
  }
  ranks = placed(std::move(ranks), *all, *read);
  if (ranks->size() > 1) {
    on.grid.ranks = ranks.get();
    on.all = ranks->communicator({1, 1, 1, ranks->size()});
    on.ranks = std::move(ranks);
  }
  Backend& backend = on.grid.backend(read->text("backend"), device_of(*read));
  all_or_none(*on.all, [&] { demand_device(backend, *read); });
  return std::make_shared<Context>(backend, threads, std::move(on));
}

ContextRanks ranks_of_job(const JobRun& job) {
  return {.grid = {.fixed = job.shared_communicator()}, .all = job.shared_communicator()};
}

quadrille_status give(quadrille_context** handle, const std::function<std::shared_ptr<Context>()>& make) noexcept {
  try {
    *required(handle, new_handle) = nullptr;
    static spdlog::logger silent("quadrille");  // the context has no log function yet
    const UseLog nowhere(silent);
    std::shared_ptr<Context> context = make();
    const void* owner = context.get();
    *handle = reinterpret_cast<quadrille_context*>(handles().add(Kind::context, std::move(context), owner));
    return QUADRILLE_DONE;
  } catch (...) {
    return report_failure(nullptr);
  }
}

/// Of the words that no job has.
std::string words_help(const ParameterTable& table) {
  Parameter group;
  group.name = table.name;
  group.type = ParameterType::group;
  group.help = table.help;
  group.members = table.parameters;
  return parameter_help(group);
}

std::string help_on(const char* topic) {
  std::vector<std::string> topic_words;
  std::istringstream stream(topic == nullptr ? "" : topic);
  for (std::string word; stream >> word;) topic_words.push_back(word);
  if (topic_words.size() == 1) {
    for (const ParameterTable* table : {&rank_context_table(), &new_links_table(), &clover_table(), &solve_table()}) {
      if (topic_words[0] == table->name) return words_help(*table);
    }
  }
  std::string text = help_text(topic_words);
  if (topic_words.empty()) text += "\nWords of the C API: context, links, clover, spinors\n";
  return text;
}

}  // namespace

Context::Context(Backend& works_on, int with_threads, ContextRanks with_ranks)
    : backend(works_on),
      lane(works_on.make_lane()),
      threads(with_threads),
      on(std::move(with_ranks)),
      log("quadrille", std::make_shared<CallbackSink>(*this)) {
  log.set_level(spdlog::level::off);
  log.set_error_handler([](const std::string&) {});  // spdlog's own writes to stderr what a callback has thrown
}

Context::Context(Backend& works_on, int with_threads, const spdlog::logger& says, JobRun& of)
    : backend(works_on),
      threads(with_threads),
      on(ranks_of_job(of)),
      job(&of),
      task_thread(std::this_thread::get_id()),
      log(says) {}

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

const char* quadrille_version(void) { return QUADRILLE_VERSION; }

const char* quadrille_build_id(void) {
  static const std::string id = build_id();
  return id.c_str();
}

quadrille_status quadrille_context_create(const char* words, quadrille_context** handle) {
  return give(handle, [&] { return make_context(words); });
}

quadrille_status quadrille_context_create_mpi(const char* words, const void* communicator, quadrille_context** handle) {
  return give(handle, [&] {
    return make_context_on_ranks(words,
                                 ranks_of({.address = required(communicator, "the address of the communicator")}));
  });
}

quadrille_status quadrille_context_create_mpi_fortran(const char* words, int communicator, quadrille_context** handle) {
  return give(handle, [&] { return make_context_on_ranks(words, ranks_of({.fortran = communicator})); });
}

quadrille_status quadrille_context_destroy(quadrille_context* handle) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    demand_mpi_thread(*context);
    handles().remove_owned(context.get());
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_context_set_log(quadrille_context* handle, quadrille_log_level level,
                                           quadrille_log_function log, void* user) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    context->log.set_level(log == nullptr ? spdlog::level::off : level_of(level));
    context->log_function = log;
    context->log_user = user;
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_context_set_progress(quadrille_context* handle, quadrille_progress_function progress,
                                                void* user) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    context->progress = progress;
    context->progress_user = user;
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_context_set_stream(quadrille_context* handle, void* stream) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    if (stream != nullptr && context->backend.host_memory()) {
      throw Error(ErrorCode::unsupported, "a stream belongs to a GPU, but this context works on the CPU: pass null");
    }
    context->stream = stream;
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_help(quadrille_context* handle, const char* topic, const char** text) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    *required(text, "the place for the text") = "";
    context->text = help_on(topic);
    *text = context->text.c_str();
    return QUADRILLE_DONE;
  });
}

quadrille_status quadrille_schema(quadrille_context* handle, const char** json) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
    *required(json, "the place for the text") = "";
    nlohmann::ordered_json schema = job_schema();
    for (const ParameterTable* table : {&rank_context_table(), &new_links_table(), &clover_table(), &solve_table()}) {
      schema["$defs"][table->name] = words_schema(*table);
    }
    context->text = schema.dump(2);
    *json = context->text.c_str();
    return QUADRILLE_DONE;
  });
}
