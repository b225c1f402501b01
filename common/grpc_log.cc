#include "common/grpc_log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

#include "common/process_logger.h"

namespace fetchbench {
namespace {

template <spdlog::level::level_enum kLevel>
void Hand(gpr_log_func_args* line) {
  // Not spdlog's default logger: see there.
  if (const auto& logger = ProcessLogger()) logger->log(kLevel, "grpc: {}", line->message);
}

}  // namespace

void SendGrpcLog(GrpcLog level) {
  gpr_set_log_function(level == GrpcLog::kWarnings ? Hand<spdlog::level::warn>
                                                   : Hand<spdlog::level::debug>);
}

}  // namespace fetchbench
