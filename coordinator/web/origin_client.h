#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/net.h"
#include "coordinator/summary/summary.h"

namespace fetchbench::coordinator {

// What GET /v1/config of an origin tells.
struct OriginConfig {
  std::string version;
  std::string profile;
  std::string profile_sha256;
  uint64_t seed = 0;
  std::string dns;                      // host:port
  std::vector<std::string> connect_to;  // curl's form
  std::string ca_sha256;
};

// Talks to an origin's control endpoint (HTTP/1.1, JSON), one connection a request. On the loop.
// Errors name the endpoint.
class OriginClient {
 public:
  // What an origin keeps certificates for at most; further hosts get theirs when they are asked
  // for.
  static constexpr size_t kMaxCertificates = 65'536;

  // For how long one that gives no answer is asked again, from each question on.
  struct Patience {
    std::chrono::milliseconds limit{0};
    std::function<bool()> stopped = [] { return false; };  // true: no longer
  };

  // `address` is host:port, or unix:PATH.
  OriginClient(net::any_io_executor loop, std::string address);

  // For an origin that is reached through a network. It holds for what a run needs before it
  // begins; what is asked afterwards is asked once. Without it everything is.
  void set_patience(Patience patience) { patience_ = std::move(patience); }

  Task<absl::StatusOr<OriginConfig>> Config();
  Task<absl::StatusOr<std::string>> CaPem();
  // Issues certificates now, a bounded number of hosts a request; gives up when `stopped` says so.
  // `hosts` outlives the call.
  Task<absl::Status> IssueCertificates(const std::vector<std::string>& hosts,
                                       std::function<bool()> stopped);
  // From now on the origin counts for this run.
  Task<absl::Status> BeginRun(const std::string& run_id);
  Task<absl::StatusOr<OriginSummary>> RunStatistics(const std::string& run_id);

  // What it saw of a host under conformance.test; see origin/host_log.h.
  Task<absl::StatusOr<boost::json::object>> HostLog(std::string host);

  const std::string& address() const { return address_; }

 private:
  // Unavailable: nobody answered.
  Task<absl::StatusOr<std::string>> Request(std::string method, std::string path, std::string body,
                                            std::chrono::seconds limit);
  // As often as patience allows.
  Task<absl::StatusOr<std::string>> Insist(std::string method, std::string path, std::string body,
                                           std::chrono::seconds limit);
  absl::StatusOr<boost::json::object> ObjectOf(std::string_view path,
                                               const absl::StatusOr<std::string>& answer) const;

  net::any_io_executor loop_;
  std::string address_;
  Patience patience_;
};

// The pure part of RunStatistics.
absl::StatusOr<OriginSummary> ParseRunStatistics(const boost::json::object& object);

}  // namespace fetchbench::coordinator
