#include "origin/run_stats.h"

#include <sys/resource.h>

#include <algorithm>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "origin/stable_hash.h"

namespace fetchbench::origin {
namespace {

namespace json = boost::json;

uint64_t ProcessCpuUs() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto us = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000 + static_cast<uint64_t>(t.tv_usec);
  };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

}  // namespace

RunStats::RunStats() { Start(""); }

void RunStats::Start(std::string run) {
  run_ = std::move(run);
  dns_queries = connections = tls_handshakes = requests = 0;
  lateness = Histogram();
  responses_.fill(0);
  hosts_.clear();
  most_in_flight_ = in_flight_;
  most_requests_of_a_host_ = 0;
  for (const auto& [host, open] : requests_of_host_) {
    most_requests_of_a_host_ = std::max(most_requests_of_a_host_, open);
  }
  cpu_us_at_start_ = ProcessCpuUs();
}

void RunStats::CountResponse(int status) {
  if (status >= 0 && static_cast<size_t>(status) < kStatusLimit) {
    ++responses_[static_cast<size_t>(status)];
  }
}

void RunStats::CountHost(uint64_t host) {
  if (hosts_.size() < kMaxHosts) hosts_.insert(host);
}

void RunStats::RequestBegins(std::string_view host) {
  const uint64_t hash = StableHash(0, "count", host);
  ++requests;
  CountHost(hash);
  most_requests_of_a_host_ = std::max(most_requests_of_a_host_, ++requests_of_host_[hash]);
}

void RunStats::RequestEnds(std::string_view host) {
  const auto it = requests_of_host_.find(StableHash(0, "count", host));
  if (it != requests_of_host_.end() && --it->second == 0) requests_of_host_.erase(it);
}

void RunStats::FlightBegins() {
  ++in_flight_;
  most_in_flight_ = std::max(most_in_flight_, in_flight_);
}

std::string RunStats::ToJson() const {
  json::object responses;
  for (size_t status = 0; status < kStatusLimit; ++status) {
    if (responses_[status] != 0) responses[std::to_string(status)] = responses_[status];
  }
  const json::object lateness_us = {{"count", lateness.count()},
                                    {"p50", lateness.Quantile(0.5)},
                                    {"p99", lateness.Quantile(0.99)},
                                    {"max", lateness.max()}};
  const json::object object = {{"run", run_},
                               {"dns_queries", dns_queries},
                               {"connections", connections},
                               {"tls_handshakes", tls_handshakes},
                               {"requests", requests},
                               {"responses", responses},
                               {"most_in_flight", most_in_flight_},
                               {"most_requests_of_a_host", most_requests_of_a_host_},
                               {"hosts", hosts_.size()},
                               {"lateness_us", lateness_us},
                               {"cpu_us", ProcessCpuUs() - cpu_us_at_start_}};
  return json::serialize(object);
}

}  // namespace fetchbench::origin
