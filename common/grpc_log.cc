#include "common/grpc_log.h"

#include <fmt/format.h>
#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <optional>
#include <string>

#include "common/log_budget.h"
#include "common/process_logger.h"

namespace fetchbench {
namespace {

// gRPC calls a function that has nothing of its own. Never freed, for the reason that ProcessLogger
// is not.
LogBudget& BudgetOfTheProcess() {
  static auto* const budget = new LogBudget();
  return *budget;
}

// Not spdlog's default logger: see ProcessLogger.
void HandDebug(gpr_log_func_args* line) {
  if (const auto& logger = ProcessLogger()) logger->debug("grpc: {}", line->message);
}

// Whoever can connect has gRPC log a line for each handshake. A kind is a place in gRPC's code, so
// that this hides nothing else.
void HandWarning(gpr_log_func_args* line) {
  const auto& logger = ProcessLogger();
  if (!logger) return;
  const std::optional<std::string> left_out = BudgetOfTheProcess().Allow(
      fmt::format("{}:{}", line->file, line->line), std::chrono::steady_clock::now());
  if (left_out) logger->warn("grpc: {}{}", line->message, *left_out);
}

}  // namespace

void SendGrpcLog(GrpcLog level) {
  gpr_set_log_function(level == GrpcLog::kWarnings ? HandWarning : HandDebug);
}

}  // namespace fetchbench
