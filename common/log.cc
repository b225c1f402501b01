#include "common/log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/dist_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <boost/json.hpp>
#include <chrono>
#include <utility>

#include "common/harmless_text.h"
#include "common/process_logger.h"
#include "common/utf8.h"

namespace fetchbench {
namespace {

namespace json = boost::json;
using spdlog::details::log_msg;

// An event travels through spdlog in the place of a source file, its fields in that of a function.
// Our loggers write before a call returns, so both texts live long enough.
constexpr int kEventLine = 1;
constexpr int kChildLine = 2;

std::string_view LevelWord(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::warn:
      return "warn";
    case spdlog::level::err:
      return "error";
    default: {
      const spdlog::string_view_t name = spdlog::level::to_string_view(level);
      return {name.data(), name.size()};
    }
  }
}

std::string Timestamp(std::chrono::system_clock::time_point time) {
  const auto whole = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch());
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z",
                     fmt::gmtime(std::chrono::system_clock::to_time_t(time)), whole.count() % 1000);
}

void AppendEscaped(char32_t c, std::string& out) {
  if (c < 0x10000) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    return;
  }
  const unsigned rest = static_cast<unsigned>(c) - 0x10000;
  out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (rest >> 10), 0xDC00 + (rest & 0x3FF));
}

// JSON in which only ASCII is left, so that no terminal needs to be protected from it; bytes that
// are not UTF-8 become U+FFFD. What has to be replaced can only be inside of strings.
std::string AsciiJson(const json::object& object) {
  const std::string text = json::serialize(object);
  std::string out;
  out.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    const Utf8Character c = DecodeUtf8(rest);
    if (c.valid && c.code >= 0x20 && c.code < 0x7F) {
      out += rest[0];
    } else {
      AppendEscaped(c.valid ? c.code : U'\uFFFD', out);
    }
    rest.remove_prefix(c.bytes);
  }
  return out;
}

json::object LineOf(std::string_view ts, std::string_view level, std::string_view program) {
  return {{"ts", ts}, {"level", level}, {"program", program}};
}

std::string JsonLine(const log_msg& message, const json::object& context) {
  json::object line =
      LineOf(Timestamp(message.time), LevelWord(message.level),
             std::string_view(message.logger_name.data(), message.logger_name.size()));
  const bool event = message.source.line == kEventLine;
  if (event) line["event"] = message.source.filename;
  line["message"] = std::string_view(message.payload.data(), message.payload.size());
  for (const auto& [name, value] : context) line[name] = value;
  boost::system::error_code error;
  const json::value fields =
      event ? json::parse(message.source.funcname, error) : json::value(json::object());
  if (!error && fields.is_object()) {
    for (const auto& [name, value] : fields.get_object()) line[name] = value;
  }
  return AsciiJson(line);
}

void Append(std::string_view text, spdlog::memory_buf_t& to) {
  to.append(text.data(), text.data() + text.size());
}

class LineFormatter final : public spdlog::formatter {
 public:
  LineFormatter(LogFormat format, std::string pattern, json::object context)
      : format_(format),
        pattern_(std::move(pattern)),
        context_(std::move(context)),
        text_(pattern_, spdlog::pattern_time_type::utc) {}

  void format(const log_msg& message, spdlog::memory_buf_t& to) override {
    const std::string_view payload(message.payload.data(), message.payload.size());
    if (message.source.line == kChildLine) {
      Append(Harmless(payload), to);
      Append("\n", to);
      return;
    }
    if (format_ == LogFormat::kJson) {
      Append(JsonLine(message, context_), to);
      Append("\n", to);
      return;
    }
    const std::string harmless = Harmless(payload);
    log_msg copy = message;
    copy.payload = harmless;
    text_.format(copy, to);
    message.color_range_start = copy.color_range_start;
    message.color_range_end = copy.color_range_end;
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<LineFormatter>(format_, pattern_, context_);
  }

 private:
  LogFormat format_;
  std::string pattern_;
  json::object context_;
  spdlog::pattern_formatter text_;
};

// Where lines go, exchanged under a lock that is held while one is written.
using Outlet = spdlog::sinks::dist_sink_mt;

Outlet& OutletOfTheProcess() { return dynamic_cast<Outlet&>(*ProcessLogger()->sinks().at(0)); }

std::shared_ptr<spdlog::logger> MakeLogger(const std::string& program) {
  const std::vector<spdlog::sink_ptr> sinks = {
      std::make_shared<spdlog::sinks::stderr_color_sink_mt>()};
  return std::make_shared<spdlog::logger>(program, std::make_shared<Outlet>(sinks));
}

}  // namespace

std::shared_ptr<spdlog::logger>& ProcessLogger() {
  static auto* const logger = new std::shared_ptr<spdlog::logger>();
  return *logger;
}

std::optional<LogFormat> ParseLogFormat(std::string_view word) {
  if (word == "text") return LogFormat::kText;
  if (word == "json") return LogFormat::kJson;
  return std::nullopt;
}

absl::Status SetUpLog(const std::string& program, const std::string& level,
                      const std::string& format) {
  const auto parsed = spdlog::level::from_str(level);
  // from_str answers "off" for every text that it does not know.
  if (parsed == spdlog::level::off && level != "off") {
    return absl::InvalidArgumentError(
        fmt::format("log level '{}': use trace, debug, info, warn, error or off", level));
  }
  const std::optional<LogFormat> parsed_format = ParseLogFormat(format);
  if (!parsed_format) {
    return absl::InvalidArgumentError(fmt::format("log format '{}': use text or json", format));
  }
  std::shared_ptr<spdlog::logger>& logger = ProcessLogger();
  if (!logger || logger->name() != program) logger = MakeLogger(program);
  logger->set_formatter(MakeLogFormatter(*parsed_format, "%Y-%m-%dT%H:%M:%S.%eZ %n %^%l%$ %v"));
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(logger);
  return absl::OkStatus();
}

std::unique_ptr<spdlog::formatter> MakeLogFormatter(LogFormat format, std::string pattern,
                                                    json::object context) {
  return std::make_unique<LineFormatter>(format, std::move(pattern), std::move(context));
}

LogRedirection::LogRedirection(const spdlog::sink_ptr& sink)
    : before_(OutletOfTheProcess().sinks()) {
  OutletOfTheProcess().set_sinks({sink});
}

LogRedirection::~LogRedirection() { OutletOfTheProcess().set_sinks(before_); }

void LogEvent(spdlog::level::level_enum level, const char* event, json::object fields,
              const std::string& message) {
  spdlog::logger* const logger = spdlog::default_logger_raw();
  if (!logger->should_log(level)) return;
  const std::string text = AsciiJson(fields);
  logger->log(spdlog::source_loc{event, kEventLine, text.c_str()}, level,
              spdlog::string_view_t(message));
}

void LogChildLine(std::string_view line) {
  spdlog::default_logger_raw()->log(spdlog::source_loc{"", kChildLine, ""}, spdlog::level::critical,
                                    spdlog::string_view_t(line.data(), line.size()));
}

std::string JsonLogLine(std::string_view program, std::string_view level,
                        std::string_view message) {
  json::object line = LineOf(Timestamp(std::chrono::system_clock::now()), level, program);
  line["message"] = message;
  return AsciiJson(line);
}

}  // namespace fetchbench
