#pragma once

#include <ares.h>

#include <array>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <chrono>
#include <cstddef>
#include <deque>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>

#include "absl/status/statusor.h"
#include "agent/native/dns.h"
#include "agent/native/net_types.h"
#include "common/clock.h"

namespace fetchbench::native {

// DNS by c-ares on one worker's io_context. Names are absolute: search domains are not applied, and
// /etc/hosts is not read (both would be read anew for each lookup; see HostsFile).
//
// A query that has no answer is sent again by us and not by c-ares, which gives up a query over TCP
// after its first try. All copies stay alive until the deadline, and the first answer counts; with
// several servers each copy goes to the next one.
//
// Queries are bounded twice. All of them together by kMaxInFlight; and those younger than kFresh by
// kMaxFresh, because a burst of answers must fit into one socket's receive buffer. A dead name
// leaves the second bound after kFresh, so a few of them cannot starve the rest.
class CaresResolver final : public DnsResolver {
 public:
  static constexpr size_t kMaxInFlight = 16'384;
  static constexpr size_t kMaxFresh = 256;
  static constexpr std::chrono::milliseconds kFresh{250};

  // `server` is "address:port" in c-ares' syntax, or empty for the system's. No lookup is given up
  // earlier than `timeout` after its start: a fetch's deadline rules.
  static absl::StatusOr<std::unique_ptr<CaresResolver>> Create(net::io_context& io,
                                                               const std::string& server,
                                                               std::chrono::milliseconds timeout);
  ~CaresResolver() override;
  CaresResolver(const CaresResolver&) = delete;
  CaresResolver& operator=(const CaresResolver&) = delete;

  void Resolve(const std::string& host, Family family, DnsCallback done) override;

  // To be called every few tens of milliseconds: repeats and ends what is late.
  void OnTick(SteadyTime now);

 private:
  using Descriptor = net::posix::basic_stream_descriptor<Executor>;

  // What was asked of us; kept by its queries and by repeats_.
  struct Request {
    std::string host;
    Family family;
    DnsCallback done;
    SteadyTime started;
    int queries = 0;  // under way
    int sent = 0;     // in all
    bool finished = false;
  };

  // One copy of the request, known to c-ares.
  struct Query {
    CaresResolver* resolver;
    std::shared_ptr<Request> request;
    SteadyTime started;
    bool fresh = true;
    std::list<Query*>::iterator fresh_position;
  };

  // Requests that are sent again when they are `after` old, oldest first.
  struct Repeat {
    std::chrono::milliseconds after;
    std::deque<std::shared_ptr<Request>> waiting;
  };

  // One socket of c-ares, watched through Asio and owned by c-ares.
  struct Watch {
    Descriptor descriptor;
    bool read = false;
    bool write = false;
    bool reading = false;
    bool writing = false;
  };

  CaresResolver(net::io_context& io, std::string server, std::chrono::milliseconds timeout);
  absl::Status OpenChannel();
  void CloseChannel();
  void StartQueued();
  void Send(const std::shared_ptr<Request>& request);
  void SendRepeats(SteadyTime now);
  static void Finish(Request& request, DnsAnswer answer);
  void OnSocketState(ares_socket_t fd, bool read, bool write);
  void Rearm(const std::shared_ptr<Watch>& watch);

  static void OnAnswer(void* arg, int status, int timeouts, unsigned char* data, int size);

  net::io_context& io_;
  std::string server_;
  std::chrono::milliseconds timeout_;
  ares_channel channel_ = nullptr;
  bool closing_ = false;
  bool broken_ = false;  // c-ares may keep a dead socket after a refused query
  size_t in_flight_ = 0;
  std::list<Query*> fresh_;
  std::deque<std::shared_ptr<Request>> queued_;
  std::array<Repeat, 2> repeats_;
  std::deque<std::shared_ptr<Request>> refused_;  // sent again at the next tick
  std::unordered_map<ares_socket_t, std::shared_ptr<Watch>> watches_;
};

}  // namespace fetchbench::native
