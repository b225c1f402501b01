#include <array>

#include "origin/behaviours/behaviour.h"

// The smallest behaviours, as examples of how the others are written.
namespace fetchbench::origin {
namespace {

// Reads the request and never answers.
Task<> ServeNothing(Exchange exchange) { co_await exchange.WaitForPeerClose(Exchange::kMaxHold); }

Task<> ServeNoContent(Exchange exchange) {
  exchange.KeepAlive();
  co_await exchange.Write("HTTP/1.1 204 No Content\r\n\r\n");
}

constexpr std::array kTable = {
    ConformanceHost{.name = "never-answers", .serve = ServeNothing},
    ConformanceHost{.name = "no-content", .serve = ServeNoContent},
    ConformanceHost{.name = "nxdomain", .dns = {.kind = DnsKind::kNxdomain}},
    ConformanceHost{.name = "connect-refused", .dns = {.addresses = kOneRefusing}},
    ConformanceHost{.name = "expired-certificate",
                    .tls = {.certificate = CertificateKind::kExpired},
                    .serve = ServeNoContent},
};

}  // namespace

std::span<const ConformanceHost> ExampleBehaviours() { return kTable; }

}  // namespace fetchbench::origin
