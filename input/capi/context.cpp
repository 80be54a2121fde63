// Contexts, and what the library says of itself.
#include "core/build_id.h"
#include "core/simd/isa.h"
#include "input/blocks.h"
#include "input/capi/call.h"
#include "input/capi/words.h"
#include "input/document.h"

#include <omp.h>
#include <spdlog/sinks/base_sink.h>

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
  throw Error(ErrorCode::invalid_input, fmt::format("{} is no level of the log; there are 1 to 4", int(level)));
}

std::shared_ptr<Context> make_context(const char* words) {
  const auto read = read_words(context_table(), words, "context");
  (void)active_isa();  // an instruction set that is asked for and cannot be had is said here
  const int threads = read->has("threads") ? int(read->integer("threads")) : omp_get_max_threads();
  return std::make_shared<Context>(find_backend(read->text("backend")), threads);
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
    for (const ParameterTable* table : {&context_table(), &new_links_table(), &solve_table()}) {
      if (topic_words[0] == table->name) return words_help(*table);
    }
  }
  static std::mutex tasks;  // of modules are found by the first who asks
  const std::lock_guard lock(tasks);
  return help_text(topic_words);
}

}  // namespace

Context::Context(Backend& works_on, int with_threads)
    : backend(works_on), threads(with_threads), log("quadrille", std::make_shared<CallbackSink>(*this)) {
  log.set_level(spdlog::level::off);
}

Context::Context(Backend& works_on, int with_threads, const spdlog::logger& says)
    : backend(works_on), threads(with_threads), log(says) {}

}  // namespace quadrille::capi

using namespace quadrille;
using namespace quadrille::capi;

const char* quadrille_version(void) { return QUADRILLE_VERSION; }

const char* quadrille_build_id(void) {
  static const std::string id = build_id();
  return id.c_str();
}

quadrille_status quadrille_context_create(const char* words, quadrille_context** handle) {
  try {
    *required(handle, "the place for the handle") = nullptr;
    std::shared_ptr<Context> context = make_context(words);
    const void* owner = context.get();
    *handle = reinterpret_cast<quadrille_context*>(handles().add(Kind::context, std::move(context), owner));
    return QUADRILLE_DONE;
  } catch (...) {
    return report_failure(nullptr);
  }
}

quadrille_status quadrille_context_destroy(quadrille_context* handle) {
  return with<Context>(handle, [&](const std::shared_ptr<Context>& context) {
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
    context->text = job_schema().dump(2);
    *json = context->text.c_str();
    return QUADRILLE_DONE;
  });
}
