#include "core/system/log.h"

#include "core/printable.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>

#include <memory>

namespace quadrille {
namespace {

thread_local spdlog::logger* used_here = nullptr;

/// The text of a message as a line of its own, whatever names are in it.
class PrintableText final : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&, spdlog::memory_buf_t& to) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    to.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<PrintableText>(); }
};

std::unique_ptr<spdlog::formatter> line_formatter() {
  auto made = std::make_unique<spdlog::pattern_formatter>();
  made->add_flag<PrintableText>('*').set_pattern("quadrille: %^%l%$: %*");
  return made;
}

}  // namespace

UseLog::UseLog(spdlog::logger& logger) : before_(used_here) { used_here = &logger; }
UseLog::~UseLog() { used_here = before_; }

spdlog::logger& log() {
  if (used_here != nullptr) return *used_here;
  static const std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("quadrille", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
    made->set_formatter(line_formatter());
    return made;
  }();
  return *logger;
}

}  // namespace quadrille
