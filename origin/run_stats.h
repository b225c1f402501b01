#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "common/histogram.h"

namespace fetchbench::origin {

// What the origin saw since the present run began, so that a client's claims can be checked. Plain
// counters, touched by the origin's thread only.
class RunStats {
 public:
  RunStats();

  // Everything is counted anew and belongs to `run`. Connections that are open stay open and count
  // in most_in_flight.
  void Start(std::string run);

  void CountResponse(int status);

  // A connection is in flight from its accept to the end of its first response, and again from each
  // further request's first byte to the end of that response.
  void FlightBegins();
  void FlightEnds() { --in_flight_; }

  // A request is with its host from when it was read to the end of the response.
  void RequestBegins(std::string_view host);
  void RequestEnds(std::string_view host);

  const std::string& run() const { return run_; }

  // The JSON object of GET /v1/runs/ID.
  std::string ToJson() const;

  uint64_t dns_queries = 0;
  uint64_t connections = 0;
  uint64_t tls_handshakes = 0;
  uint64_t requests = 0;
  Histogram lateness;  // how late planned delays ended, microseconds

 private:
  void CountHost(uint64_t host);

  // Beyond this many hosts "hosts" stays where it is.
  static constexpr size_t kMaxHosts = size_t{1} << 24;
  static constexpr size_t kStatusLimit = 1000;

  std::string run_;
  std::array<uint64_t, kStatusLimit> responses_{};
  absl::flat_hash_set<uint64_t> hosts_;
  uint64_t in_flight_ = 0;
  uint64_t most_in_flight_ = 0;
  absl::flat_hash_map<uint64_t, uint64_t> requests_of_host_;  // those that are open now
  uint64_t most_requests_of_a_host_ = 0;
  uint64_t cpu_us_at_start_ = 0;
};

}  // namespace fetchbench::origin
