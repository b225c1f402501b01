// Connections that fail, break off, stay open or deliver their bytes oddly.
#include <array>
#include <chrono>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view kHalfAHead = "HTTP/1.1 200 OK\r\nContent-Ty";

constexpr std::array kCanned = {
    Canned{.name = "reset-in-headers", .raw = kHalfAHead, .after = After::kReset},
    Canned{.name = "close-in-headers", .raw = kHalfAHead, .after = After::kClose},
    Canned{.name = "keep-alive-then-pause", .lines = "Connection: keep-alive\r\n"},
    Canned{.name = "connection-close", .lines = "Connection: close\r\n", .after = After::kClose},
};

Task<> ResetAtOnce(Exchange exchange) {
  exchange.Reset();
  co_return;
}

Task<> CloseAtOnce(Exchange) { co_return; }

Task<> AnswerBeforeRequest(Exchange exchange) {
  co_await exchange.Write(std::string(kHelloHead) + std::string(kHello));
  co_await Hold(exchange);
}

Task<> ResetAfterResponse(Exchange exchange) {
  co_await exchange.Write(std::string(kHelloHead) + std::string(kHello));
  co_await exchange.Sleep(milliseconds(200));
  exchange.Reset();
}

Task<> ServeHalfClose(Exchange exchange) {
  co_await exchange.Write(std::string(kHelloHead) + std::string(kHello));
  co_await exchange.HalfClose(true);
  co_await Hold(exchange);
}

Task<> ServeByteByByte(Exchange exchange) {
  co_await Drip(exchange, std::string(kHelloHead) + std::string(kHello), milliseconds(2));
  co_await Hold(exchange);
}

Task<> ServeFirstByteAlone(Exchange exchange) {
  co_await exchange.Write("H");
  co_await exchange.Sleep(milliseconds(200));
  co_await exchange.Write(std::string(kHelloHead.substr(1)) + std::string(kHello));
  co_await Hold(exchange);
}

constexpr std::array kServed = {
    ConformanceHost{.name = "connect-refused", .dns = {.addresses = kOneRefusing}},
    ConformanceHost{.name = "connect-black-hole", .dns = {.addresses = kOneBlackHole}},
    ConformanceHost{.name = "reset-after-accept", .on_accept = ResetAtOnce},
    ConformanceHost{.name = "close-after-accept", .on_accept = CloseAtOnce},
    ConformanceHost{.name = "response-before-request", .on_accept = AnswerBeforeRequest},
    ConformanceHost{.name = "reset-after-request", .serve = ResetAtOnce},
    ConformanceHost{.name = "close-after-request", .serve = CloseAtOnce},
    ConformanceHost{.name = "reset-in-body", .serve = ResetInBody},
    ConformanceHost{.name = "reset-after-response", .serve = ResetAfterResponse},
    ConformanceHost{.name = "half-close", .serve = ServeHalfClose},
    ConformanceHost{.name = "one-byte-writes", .serve = ServeByteByByte},
    ConformanceHost{.name = "first-byte-alone", .serve = ServeFirstByteAlone},
};

constexpr auto kTable = Join(CannedHosts<kCanned>(), kServed);

}  // namespace

std::span<const ConformanceHost> ConnectBehaviours() { return kTable; }

}  // namespace fetchbench::origin
