#include "common/grpc_log.h"

#include <grpc/support/log.h>
#include <spdlog/spdlog.h>

namespace fetchbench {
namespace {

template <spdlog::level::level_enum kLevel>
void Hand(gpr_log_func_args* line) {
  spdlog::log(kLevel, "grpc: {}", line->message);
}

}  // namespace

void SendGrpcLog(GrpcLog level) {
  gpr_set_log_function(level == GrpcLog::kWarnings ? Hand<spdlog::level::warn>
                                                   : Hand<spdlog::level::debug>);
}

}  // namespace fetchbench
