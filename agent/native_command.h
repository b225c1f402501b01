#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "agent/target_process.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

inline constexpr std::string_view kNativeTarget = "native";

// Bounds of what a coordinator may ask for.
inline constexpr uint32_t kMaxConcurrency = 100'000;
inline constexpr uint32_t kMaxTimeoutMs = 3'600'000;
inline constexpr int kMaxConnectTo = 1'000;
inline constexpr size_t kMaxOptionBytes = 64 << 10;
inline constexpr size_t kMaxCaBytes = 256 << 10;

// InvalidArgument names the option that is out of range.
absl::Status CheckOptions(const v1::FetchOptions& options);

// The command line of the native target (and of any program that speaks its contract). Pure.
TargetCommand NativeCommand(const std::string& program, const v1::FetchOptions& options);

// The daemon's environment without the variables that a target takes for options.
std::vector<std::string> TargetEnvironment();

}  // namespace fetchbench::agent
