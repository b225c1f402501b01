#pragma once

#include <chrono>

#include "agent/native/connect_to.h"
#include "agent/native/fetch_control.h"
#include "agent/native/fetch_env.h"
#include "agent/native/net_types.h"

namespace fetchbench::native {

struct DialResult {
  explicit DialResult(const Executor& executor) : socket(executor) {}

  error_code error;
  Socket socket;
  Endpoint endpoint;
  std::chrono::microseconds dns{0};
  std::chrono::microseconds connect{0};
  bool resolved = false;  // an address was known, so `connect` counts
};

// Resolves `target` and connects to it by Happy Eyeballs. Sets control.phase. Ends soon after the
// fetch is stopped.
Task<DialResult> Dial(FetchEnv& env, FetchControl& control, HostPort target);

}  // namespace fetchbench::native
