#pragma once

#include <spdlog/logger.h>

#include <memory>

namespace fetchbench {

// The logger that SetUpLog made; null before. It is never freed: gRPC's threads log while the
// process ends, when spdlog's registry, and what it holds, is gone already. Any thread, once
// SetUpLog is through.
std::shared_ptr<spdlog::logger>& ProcessLogger();

}  // namespace fetchbench
