#pragma once

#include <spdlog/common.h>
#include <spdlog/formatter.h>
#include <spdlog/logger.h>

#include <boost/json/object.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace fetchbench {

// One line an event on standard error. Text is for people; JSON is one object a line, all ASCII,
// with ts (RFC 3339, UTC), level, program, message, perhaps event (a stable word), and fields.
// Whatever is logged, control characters and line ends in it are escaped.
enum class LogFormat { kText, kJson };
std::optional<LogFormat> ParseLogFormat(std::string_view word);  // "text", "json"

// Sends spdlog's default logger to stderr. `level` is one of trace, debug, info, warn, error, off,
// `format` text or json; InvalidArgument for any other.
absl::Status SetUpLog(const std::string& program, const std::string& level,
                      const std::string& format);

// What makes a line of a message, for a logger that goes elsewhere. `pattern`: spdlog's, of text.
// `context`: fields that each JSON line gets.
std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format, std::string pattern,
                                                    boost::json::object context = {});

// While it lives, the logger that SetUpLog made writes to `sink` instead, with the same
// level. The logger itself stays: gRPC's threads may be in the middle of a line at any moment, and
// spdlog's default logger must not be replaced under them. When the destructor returns, nothing
// uses `sink` any more.
class LogRedirection {
 public:
  explicit LogRedirection(const spdlog::sink_ptr& sink);
  ~LogRedirection();
  LogRedirection(const LogRedirection&) = delete;
  LogRedirection& operator=(const LogRedirection&) = delete;

 private:
  std::vector<spdlog::sink_ptr> before_;
};

// An event, with what it is about as fields for machines; `message` says it all for people. What is
// logged by spdlog's own functions has no event and no fields.
void LogEvent(spdlog::level::level_enum level, const char* event, boost::json::object fields,
              const std::string& message);

// A line of a child's log, which it formatted by itself: goes where ours go, whatever its level.
void LogChildLine(std::string_view line);

// `message` as a line of JSON, for what a program says beside its log.
std::string JsonLogLine(std::string_view program, std::string_view level, std::string_view message);

}  // namespace fetchbench
