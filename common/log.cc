#include "common/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>

namespace fetchbench {

absl::Status SetUpLog(const std::string& program, const std::string& level) {
  const auto parsed = spdlog::level::from_str(level);
  // from_str answers "off" for every text that it does not know.
  if (parsed == spdlog::level::off && level != "off") {
    return absl::InvalidArgumentError(
        fmt::format("log level '{}': use trace, debug, info, warn, error or off", level));
  }
  auto sink = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  auto logger = std::make_shared<spdlog::logger>(program, std::move(sink));
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %n %^%l%$ %v");
  logger->set_level(parsed);
  logger->flush_on(spdlog::level::info);
  spdlog::set_default_logger(std::move(logger));
  return absl::OkStatus();
}

}  // namespace fetchbench
