#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "agent/native/async_event.h"
#include "agent/native/deadline_wheel.h"
#include "agent/native/net_types.h"
#include "common/clock.h"

namespace fetchbench::native {

// The addresses of a host in the order of RFC 8305 section 4: families take turns, IPv6 first.
// Pure.
class AddressOrder {
 public:
  void Add(const std::vector<net::ip::address>& addresses);
  bool empty() const { return v4_.empty() && v6_.empty(); }
  net::ip::address Take();

 private:
  std::deque<net::ip::address> v4_;
  std::deque<net::ip::address> v6_;
  bool v6_next_ = true;
};

// Races connection attempts to the addresses of one host (RFC 8305 section 5): a new attempt every
// kAttemptDelay, or as soon as one fails, until one connects; the others are closed then. One
// worker's thread; owned through a shared_ptr, because handlers of closed attempts come late.
class ConnectRace final : public WheelTimer, public std::enable_shared_from_this<ConnectRace> {
 public:
  static constexpr std::chrono::milliseconds kAttemptDelay{250};

  // `changed` is set when there is a winner or when all attempts are over. Close() must be called
  // before it dies.
  ConnectRace(Executor executor, DeadlineWheel& wheel, const Clock& clock, uint16_t port,
              AsyncEvent& changed);

  void Add(const std::vector<net::ip::address>& addresses);
  void Close();

  bool won() const { return winner_.has_value(); }
  Socket TakeWinner() { return std::move(attempts_[*winner_]->socket); }
  Endpoint endpoint() const { return attempts_[*winner_]->endpoint; }

  // Nothing is under way and nothing is left to try.
  bool over() const { return in_flight_ == 0 && order_.empty(); }
  error_code error() const { return error_; }

  void OnTimer() override { StartNext(); }

 private:
  struct Attempt {
    Socket socket;
    Endpoint endpoint;
  };

  void StartNext();
  void OnConnected(size_t index, const error_code& ec);
  void Fail(const error_code& ec);

  Executor executor_;
  DeadlineWheel& wheel_;
  const Clock& clock_;
  uint16_t port_;
  AsyncEvent* changed_;
  AddressOrder order_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  size_t in_flight_ = 0;
  std::optional<size_t> winner_;
  error_code error_;
};

}  // namespace fetchbench::native
