#include "agent/native/dial.h"

#include <memory>
#include <vector>

#include "agent/native/happy_eyeballs.h"

namespace fetchbench::native {
namespace {

// RFC 8305 section 3: how long a known IPv4 address waits for the IPv6 ones.
constexpr std::chrono::milliseconds kResolutionDelay{50};

using Addresses = std::vector<net::ip::address>;

// Sets an event when its time has come, or when the fetch is stopped.
class Waker final : public Abortable, public WheelTimer {
 public:
  explicit Waker(AsyncEvent& event) : event_(event) {}
  void Abort() override { event_.Set(); }
  void OnTimer() override {
    fired = true;
    event_.Set();
  }

  bool fired = false;

 private:
  AsyncEvent& event_;
};

class LookupWaiter {
 public:
  LookupWaiter(std::shared_ptr<Lookup> lookup, AsyncEvent& event)
      : lookup_(std::move(lookup)), event_(event) {
    lookup_->AddWaiter(event_);
  }
  ~LookupWaiter() { lookup_->RemoveWaiter(event_); }
  LookupWaiter(const LookupWaiter&) = delete;
  LookupWaiter& operator=(const LookupWaiter&) = delete;

 private:
  std::shared_ptr<Lookup> lookup_;
  AsyncEvent& event_;
};

std::chrono::microseconds Since(const FetchEnv& env, SteadyTime start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(env.clock.Now() - start);
}

// Addresses that need no DNS: literals, localhost, /etc/hosts.
Addresses KnownAddresses(const FetchPolicy& policy, const std::string& host) {
  error_code ec;
  const auto literal = net::ip::make_address(host, ec);
  if (!ec) return {literal};
  if (const Addresses* found = policy.hosts.Find(host)) return *found;
  if (IsLocalhost(host)) return LocalhostAddresses();
  return {};
}

bool HasAddresses(const Lookup::Part& part) { return part.done && !part.answer.addresses.empty(); }

// Enough is known to start connecting, or all is known.
bool CanStart(const Lookup& lookup, bool delay_over) {
  return lookup.done() || HasAddresses(lookup.v6()) || (HasAddresses(lookup.v4()) && delay_over);
}

// Hands each part of a lookup to the race once, without the addresses that are not allowed.
class Feeder {
 public:
  Feeder(const FetchPolicy& policy, ConnectRace& race) : policy_(policy), race_(race) {}

  void Feed(const Lookup& lookup) {
    FeedPart(lookup.v6(), v6_fed_);
    FeedPart(lookup.v4(), v4_fed_);
  }

  void Feed(const Addresses& addresses) {
    Addresses allowed;
    for (const net::ip::address& address : addresses) {
      if (policy_.public_only && !policy_.public_only->Allows(address)) {
        blocked_ = true;
      } else {
        allowed.push_back(address);
      }
    }
    any_ = any_ || !allowed.empty();
    race_.Add(allowed);
  }

  // Why there is nothing to connect to.
  error_code Nothing(const error_code& dns_error) const {
    if (blocked_ && !any_) return FetchErrc::kBlockedAddress;
    return dns_error;
  }
  bool any() const { return any_; }

 private:
  void FeedPart(const Lookup::Part& part, bool& fed) {
    if (fed || !part.done) return;
    fed = true;
    Feed(part.answer.addresses);
  }

  const FetchPolicy& policy_;
  ConnectRace& race_;
  bool v4_fed_ = false;
  bool v6_fed_ = false;
  bool blocked_ = false;
  bool any_ = false;
};

// Closes the race whichever way the coroutine ends.
struct RaceCloser {
  ConnectRace& race;
  ~RaceCloser() { race.Close(); }
};

}  // namespace

Task<DialResult> Dial(FetchEnv& env, FetchControl& control, HostPort target) {
  DialResult result(env.executor);
  const SteadyTime start = env.clock.Now();
  control.phase = Phase::kDns;
  AsyncEvent changed(env.executor);
  Waker waker(changed);
  const AbortScope abort(control, waker);
  const auto race =
      std::make_shared<ConnectRace>(env.executor, env.wheel, env.clock, target.port, changed);
  const RaceCloser closer{*race};
  Feeder feeder(env.policy, *race);
  std::shared_ptr<Lookup> lookup;
  std::optional<LookupWaiter> waiter;

  const Addresses known = KnownAddresses(env.policy, target.host);
  if (known.empty()) {
    lookup = env.dns.Get(target.host);
    waiter.emplace(lookup, changed);
    while (!CanStart(*lookup, waker.fired) && !control.stop()) {
      if (HasAddresses(lookup->v4()) && !static_cast<WheelTimer&>(waker).is_linked()) {
        env.wheel.Arm(waker, env.clock.Now() + kResolutionDelay);
      }
      co_await changed.Wait(kTuple);
    }
  }
  result.dns = Since(env, start);
  if (control.stop()) {
    result.error = control.stop();
    co_return result;
  }

  const SteadyTime connect_start = env.clock.Now();
  control.phase = Phase::kConnect;
  if (!known.empty()) feeder.Feed(known);
  while (!control.stop()) {
    if (lookup) feeder.Feed(*lookup);
    if (race->won()) break;
    if (race->over() && (!lookup || lookup->done())) break;
    co_await changed.Wait(kTuple);
  }
  result.resolved = feeder.any();
  result.connect = Since(env, connect_start);
  if (control.stop()) {
    result.error = control.stop();
  } else if (race->won()) {
    result.endpoint = race->endpoint();
    result.socket = race->TakeWinner();
  } else if (feeder.any()) {
    result.error = race->error();
  } else {
    control.phase = Phase::kDns;
    result.error = feeder.Nothing(lookup ? lookup->error() : error_code());
  }
  co_return result;
}

}  // namespace fetchbench::native
