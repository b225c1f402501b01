#include "origin/behaviours/redirect_hops.h"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <string>

#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

std::string Found(std::string_view location, std::string_view rest = "Content-Length: 0\r\n\r\n") {
  return fmt::format("HTTP/1.1 302 Found\r\nLocation: {}\r\n{}", location, rest);
}

Task<> SendTo(Exchange exchange, std::string location) {
  exchange.KeepAlive();
  co_await exchange.Write(Found(location));
}

// "/" -> "/1" -> "/2" ... -> "/<hops>", which answers.
Task<> ServeChain(Exchange exchange, int hops) {
  const int hop = HopOf(exchange.request().target);
  if (hop < hops) {
    co_await SendTo(exchange, fmt::format("/{}", hop + 1));
  } else {
    co_await ServeHello(exchange);
  }
}

}  // namespace

int HopOf(std::string_view target) {
  if (!target.starts_with('/')) return 0;
  target.remove_prefix(1);
  int hop = 0;
  std::from_chars(target.data(), target.data() + target.size(), hop);
  return hop;
}

Task<> ServeWrongPage(Exchange exchange) {
  co_await exchange.Write(
      fmt::format("HTTP/1.1 404 Wrong Page\r\nConnection: close\r\n\r\nasked for {} of {}\n",
                  exchange.request().target, exchange.request().host));
}

Task<> ServeChainOf2(Exchange exchange) { co_await ServeChain(exchange, 2); }
Task<> ServeChainOf10(Exchange exchange) { co_await ServeChain(exchange, 10); }
Task<> ServeChainOf11(Exchange exchange) { co_await ServeChain(exchange, 11); }

Task<> ServeLoopOfTwoHosts(Exchange exchange) {
  constexpr std::string_view kFirst = "redirect-loop-two-hosts.conformance.test";
  const bool at_first = exchange.request().host == kFirst;
  co_await SendTo(exchange, fmt::format("http://{}{}/", at_first ? "other." : "", kFirst));
}

// http "/" -> https "/back" -> http "/page"
Task<> ServeHttpsAndBack(Exchange exchange) {
  const std::string host = exchange.request().host;
  const std::string target = exchange.request().target;
  if (target == "/" && !exchange.tls()) {
    co_await SendTo(exchange, fmt::format("https://{}/back", host));
  } else if (target == "/back" && exchange.tls()) {
    co_await SendTo(exchange, fmt::format("http://{}/page", host));
  } else if (target == "/page" && !exchange.tls()) {
    co_await ServeHello(exchange);
  } else {
    co_await ServeWrongPage(exchange);
  }
}

Task<> ServeLongLocation(Exchange exchange) {
  const std::string location = "/page?q=" + std::string(6 * 1024, 'x');
  if (exchange.request().target == "/") {
    co_await SendTo(exchange, location);
  } else if (exchange.request().target == location) {
    co_await ServeHello(exchange);
  } else {
    co_await ServeWrongPage(exchange);
  }
}

Task<> ServeRedirectWithBody(Exchange exchange) {
  if (exchange.request().target != "/") {
    co_await ServeHello(exchange);
    co_return;
  }
  exchange.KeepAlive();
  co_await exchange.Write(Found("/page", "Content-Length: 65536\r\n\r\n"));
  co_await exchange.WritePattern(65536);
}

Task<> ServeRedirectWithEndlessBody(Exchange exchange) {
  if (exchange.request().target != "/") {
    co_await ServeHello(exchange);
    co_return;
  }
  co_await exchange.Write(Found("/page", "\r\n"));
  co_await Repeat(exchange, std::string(65536, 'x'), Micros(62'500), 120 * 16);
}

}  // namespace fetchbench::origin
