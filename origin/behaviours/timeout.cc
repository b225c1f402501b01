// Answers that come late, slowly or never.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/redirect_hops.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::array kCanned = {
    Canned{.name = "stops-in-headers", .raw = "HTTP/1.1 200 OK\r\nContent-Ty"},
    Canned{.name = "interim-then-silence", .raw = "HTTP/1.1 100 Continue\r\n\r\n"},
    Canned{.name = "stops-in-body", .body = "hello "},
};

// Later than any deadline that the tests use, sanitizers' ones included.
constexpr seconds kTooLate{20};

Task<> ServeTooLate(Exchange exchange) {
  co_await exchange.Sleep(kTooLate);
  co_await ServeHello(exchange);
}

Task<> ServeAfter1s(Exchange exchange) {
  co_await exchange.Sleep(seconds(1));
  co_await ServeHello(exchange);
}

// A bound that outlasts every client's deadline; nothing is read, so a leaving client is not seen.
Task<> NeverRead(Exchange exchange) { co_await exchange.Sleep(kTooLate); }

Task<> DripHeaders(Exchange exchange) {
  const std::string head = "HTTP/1.1 200 OK\r\nX-Slow: " + std::string(600, 'x');
  co_await Drip(exchange, head, milliseconds(200));
}

Task<> ServeRedirectThenSilence(Exchange exchange) {
  if (exchange.request().target != "/") {
    co_await Hold(exchange);
    co_return;
  }
  exchange.KeepAlive();
  co_await exchange.Write("HTTP/1.1 302 Found\r\nLocation: /silence\r\nContent-Length: 0\r\n\r\n");
}

// No hop ends near a deadline of 2 s or 8 s: the tests' own.
constexpr milliseconds kSlowHop{850};

// "/" -> "/1" -> ... "/10", each after a pause.
Task<> ServeSlowRedirects(Exchange exchange) {
  const int hop = HopOf(exchange.request().target);
  exchange.KeepAlive();
  co_await exchange.Sleep(kSlowHop);
  if (hop >= 10) {
    co_await ServeHello(exchange);
    co_return;
  }
  co_await exchange.Write(
      fmt::format("HTTP/1.1 302 Found\r\nLocation: /{}\r\nContent-Length: 0\r\n\r\n", hop + 1));
}

constexpr std::array kServed = {
    ConformanceHost{.name = "never-answers", .serve = Hold},
    ConformanceHost{.name = "never-reads", .on_accept = NeverRead},
    ConformanceHost{.name = "answers-after-the-deadline", .serve = ServeTooLate},
    ConformanceHost{.name = "answers-after-one-second", .serve = ServeAfter1s},
    ConformanceHost{.name = "drips-headers", .serve = DripHeaders},
    ConformanceHost{.name = "drips-body", .serve = DripBody},
    ConformanceHost{.name = "redirect-then-silence", .serve = ServeRedirectThenSilence},
    ConformanceHost{.name = "slow-redirects", .serve = ServeSlowRedirects},
};

constexpr auto kTable = Join(CannedHosts<kCanned>(), kServed);

}  // namespace

std::span<const ConformanceHost> TimeoutBehaviours() { return kTable; }

}  // namespace fetchbench::origin
