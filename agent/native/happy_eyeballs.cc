#include "agent/native/happy_eyeballs.h"

#include <utility>

#include "agent/native/error_map.h"

namespace fetchbench::native {

void AddressOrder::Add(const std::vector<net::ip::address>& addresses) {
  for (const net::ip::address& address : addresses) {
    (address.is_v6() ? v6_ : v4_).push_back(address);
  }
}

net::ip::address AddressOrder::Take() {
  auto& from = v4_.empty() || (v6_next_ && !v6_.empty()) ? v6_ : v4_;
  v6_next_ = &from == &v4_;
  const net::ip::address address = from.front();
  from.pop_front();
  return address;
}

ConnectRace::ConnectRace(Executor executor, DeadlineWheel& wheel, const Clock& clock, uint16_t port,
                         AsyncEvent& changed)
    : executor_(std::move(executor)),
      wheel_(wheel),
      clock_(clock),
      port_(port),
      changed_(&changed) {}

void ConnectRace::Add(const std::vector<net::ip::address>& addresses) {
  const bool idle = over();
  order_.Add(addresses);
  if (won() || order_.empty()) return;
  if (idle) {
    StartNext();
  } else if (!WheelTimer::is_linked()) {
    wheel_.Arm(*this, clock_.Now() + kAttemptDelay);
  }
}

void ConnectRace::Close() {
  changed_ = nullptr;
  DeadlineWheel::Disarm(*this);
  for (const auto& attempt : attempts_) {
    error_code ignored;
    attempt->socket.close(ignored);
  }
}

void ConnectRace::StartNext() {
  DeadlineWheel::Disarm(*this);
  if (won() || order_.empty() || changed_ == nullptr) return;
  attempts_.push_back(
      std::make_unique<Attempt>(Attempt{Socket(executor_), Endpoint(order_.Take(), port_)}));
  Attempt& attempt = *attempts_.back();
  error_code ec;
  attempt.socket.open(attempt.endpoint.protocol(), ec);
  if (ec) {
    // Out of descriptors with an attempt under way: that one goes on alone.
    if (IsFatal(ec) && in_flight_ > 0) return;
    Fail(ec);
    return;
  }
  // The request follows the handshake's last flight at once; Nagle would hold it back for an ACK.
  attempt.socket.set_option(net::ip::tcp::no_delay(true), ec);
  ++in_flight_;
  attempt.socket.async_connect(attempt.endpoint,
                               [self = shared_from_this(), index = attempts_.size() - 1](
                                   const error_code& result) { self->OnConnected(index, result); });
  if (!order_.empty()) wheel_.Arm(*this, clock_.Now() + kAttemptDelay);
}

void ConnectRace::OnConnected(size_t index, const error_code& ec) {
  --in_flight_;
  if (won() || changed_ == nullptr) return;
  if (ec) {
    error_code ignored;
    attempts_[index]->socket.close(ignored);
    Fail(ec);
    return;
  }
  winner_ = index;
  DeadlineWheel::Disarm(*this);
  for (size_t i = 0; i < attempts_.size(); ++i) {
    error_code ignored;
    if (i != index) attempts_[i]->socket.close(ignored);
  }
  changed_->Set();
}

void ConnectRace::Fail(const error_code& ec) {
  // A refusal comes from the host itself: it says more than "no route" to another address of it.
  if (!error_ || ec == net::error::connection_refused || IsFatal(ec)) error_ = ec;
  if (IsFatal(ec)) order_ = {};
  if (!order_.empty()) {
    StartNext();
  } else if (in_flight_ == 0) {
    changed_->Set();
  }
}

}  // namespace fetchbench::native
