#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>

#include <mutex>
#include <string_view>

#include "coordinator/ui/progress_display.h"

namespace fetchbench::coordinator {

// Sends spdlog's lines through the display, so that neither tears the other. `display` outlives it.
class DisplayLogSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit DisplayLogSink(ProgressDisplay& display) : display_(display) {}

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::string_view text(line.data(), line.size());
    while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
    display_.LogLine(text);
  }
  void flush_() override {}

  ProgressDisplay& display_;
};

}  // namespace fetchbench::coordinator
