#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace fetchbench::testing {

// What a name's queries get.
struct DnsScript {
  enum class Kind { kAnswer, kNxDomain, kServfail, kRefused, kSilent, kGarbage, kTruncatedUdp };

  Kind kind = Kind::kAnswer;
  std::vector<std::string> v4 = {};  // addresses of A answers
  std::vector<std::string> v6 = {};  // addresses of AAAA answers
  bool aaaa_silent = false;
  uint32_t ttl = 60;
  int drop_first = 0;  // queries that get no answer
  std::chrono::milliseconds tcp_delay{0};
};

// A DNS server on 127.0.0.1, UDP and TCP, with scripted names; others do not exist.
class LoopbackDns {
 public:
  explicit LoopbackDns(std::map<std::string, DnsScript> names);
  ~LoopbackDns();
  LoopbackDns(const LoopbackDns&) = delete;
  LoopbackDns& operator=(const LoopbackDns&) = delete;

  // "127.0.0.1:PORT"
  std::string address() const;
  int queries() const { return queries_; }

 private:
  void Serve();
  void AnswerTcp();
  // The answer to `query`, or nothing.
  std::string Respond(const std::string& query, bool tcp);

  std::map<std::string, DnsScript> names_;
  int udp_ = -1;
  int tcp_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> queries_{0};
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace fetchbench::testing
