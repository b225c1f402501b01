#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/native/address_policy.h"
#include "agent/native/connect_to.h"
#include "agent/native/deadline_wheel.h"
#include "agent/native/dns_cache.h"
#include "agent/native/hosts_file.h"
#include "agent/native/net_types.h"
#include "agent/native/tls_context.h"
#include "common/clock.h"

namespace fetchbench::native {

// What every fetch of a run keeps to. Immutable while the run lasts; shared by all workers.
struct FetchPolicy {
  std::chrono::milliseconds timeout{5000};  // from before DNS to the last body byte
  std::string user_agent;
  uint64_t max_body = uint64_t{256} << 20;  // bytes
  int max_redirects = 10;
  std::optional<PublicOnly> public_only;  // nothing: whatever address
  ConnectTo connect_to;
  HostsFile hosts;  // empty when a resolver was named
};

// What a fetch uses of its worker. One thread; outlives all fetches.
struct FetchEnv {
  Executor executor;
  const Clock& clock;
  const RunClock& run_clock;
  const FetchPolicy& policy;
  const TlsContext& tls;
  DeadlineWheel& wheel;
  DnsCache& dns;
  // Every read of every fetch goes here and is parsed before the next suspension, so a fetch that
  // waits holds no buffer.
  std::vector<char>& scratch;
};

}  // namespace fetchbench::native
