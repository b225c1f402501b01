// Redirects that are data: where Location points, and which request must follow.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/redirect_hops.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

struct Redirect {
  std::string_view name;
  std::string_view location;           // "{host}" stands for this behaviour's host; empty: no line
  std::string_view arrives = "/page";  // right targets after it, one or several between spaces
  int status = 302;
  std::string_view start = "/";
  std::string_view host_prefix = "";  // the page is asked of this prefix before the host
  bool https = false;                 // the page is asked over https
  std::string_view rest = "Content-Length: 0\r\n\r\n";  // after the Location line
  bool keep_alive = true;
};

constexpr std::array kStatuses = {
    Redirect{.name = "redirect-301", .location = "/page", .status = 301},
    Redirect{.name = "redirect-302", .location = "/page", .status = 302},
    Redirect{.name = "redirect-303", .location = "/page", .status = 303},
    Redirect{.name = "redirect-307", .location = "/page", .status = 307},
    Redirect{.name = "redirect-308", .location = "/page", .status = 308},
    Redirect{.name = "status-300-with-location",
             .location = "/page",
             .status = 300,
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{
        .name = "status-304-with-location", .location = "/page", .status = 304, .rest = "\r\n"},
    Redirect{.name = "status-305-with-location",
             .location = "/page",
             .status = 305,
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{.name = "status-201-with-location",
             .location = "/page",
             .status = 201,
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{.name = "status-200-with-location",
             .location = "/page",
             .status = 200,
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{.name = "redirect-without-length",
             .location = "/page",
             .rest = "\r\nmoved\n",
             .keep_alive = false},
    Redirect{.name = "redirect-with-short-body",
             .location = "/page",
             .rest = "Content-Length: 1000\r\n\r\nmoved\n",
             .keep_alive = false},
    Redirect{.name = "redirect-close-then-follow",
             .location = "/page",
             .rest = "Connection: close\r\nContent-Length: 6\r\n\r\nmoved\n",
             .keep_alive = false},
};

constexpr std::array kLocations = {
    Redirect{.name = "redirect-location-missing",
             .location = "",
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{.name = "redirect-location-empty",
             .location = " ",
             .rest = "Content-Length: 12\r\n\r\nhello world\n"},
    Redirect{.name = "redirect-location-absolute-path", .location = "/page"},
    Redirect{.name = "redirect-location-relative",
             .location = "page",
             .arrives = "/a/page",
             .start = "/a/b"},
    Redirect{.name = "redirect-location-dot-segments",
             .location = "../c/./page",
             .arrives = "/a/c/page",
             .start = "/a/b/x"},
    Redirect{.name = "redirect-location-query-only",
             .location = "?page=2",
             .arrives = "/a/b?page=2",
             .start = "/a/b?page=1"},
    Redirect{.name = "redirect-location-protocol-relative", .location = "//{host}/page"},
    Redirect{.name = "redirect-location-fragment", .location = "http://{host}/page#part"},
    Redirect{.name = "redirect-location-userinfo", .location = "http://user:secret@{host}/page"},
    Redirect{.name = "redirect-location-default-port", .location = "http://{host}:80/page"},
    Redirect{.name = "redirect-location-other-port", .location = "http://{host}:1/page"},
    Redirect{.name = "redirect-location-upper-case",
             .location = "HTTP://REDIRECT-LOCATION-UPPER-CASE.CONFORMANCE.TEST/page"},
    Redirect{.name = "redirect-location-spaces-around", .location = " \t  /page \t "},
    Redirect{.name = "redirect-location-with-space", .location = "/a page", .arrives = "/a%20page"},
    Redirect{.name = "redirect-location-brackets",
             .location = "/page?a[]=1",
             .arrives = "/page?a[]=1 /page?a%5B%5D=1 /page?a%5b%5d=1"},
    Redirect{.name = "redirect-location-utf-8",
             .location = "/caf\303\251",
             .arrives = "/caf%C3%A9 /caf%c3%a9 /caf\303\251"},
    Redirect{.name = "redirect-location-latin-1",
             .location = "/caf\351",
             .arrives = "/caf%E9 /caf%e9 /caf\351 /caf%C3%A9 /caf%c3%a9"},
    Redirect{.name = "redirect-location-idn",
             .location = "http://b\303\274cher.{host}/page",
             .host_prefix = "xn--bcher-kva."},
    Redirect{.name = "redirect-location-twice",
             .location = "/page\r\nLocation: /page2",
             .arrives = "/page /page2"},
    Redirect{.name = "redirect-to-ftp", .location = "ftp://{host}/"},
    Redirect{.name = "redirect-to-file", .location = "file:///etc/hostname"},
    Redirect{.name = "redirect-to-steammobile", .location = "steammobile://x"},
    Redirect{.name = "redirect-to-javascript", .location = "javascript:alert(1)"},
    Redirect{.name = "redirect-to-mailto", .location = "mailto:a@b"},
    Redirect{.name = "redirect-to-data", .location = "data:text/plain,x"},
    Redirect{.name = "redirect-location-no-host", .location = "http://"},
    Redirect{.name = "redirect-location-bad-host", .location = "http://[bad/"},
    Redirect{.name = "redirect-location-bad-port", .location = "http://{host}:99999/"},
    Redirect{.name = "redirect-to-other-host",
             .location = "http://other.{host}/page",
             .host_prefix = "other."},
    Redirect{.name = "redirect-to-unknown-host",
             .location = "http://dns-nxdomain.conformance.test/"},
    Redirect{.name = "redirect-to-refusing-host",
             .location = "http://connect-refused.conformance.test/"},
    Redirect{.name = "redirect-to-loopback", .location = "http://127.0.0.1:1/"},
    Redirect{.name = "redirect-http-to-https", .location = "https://{host}/page", .https = true},
    Redirect{.name = "redirect-https-to-http", .location = "http://{host}/page"},
    Redirect{.name = "redirect-to-expired-certificate",
             .location = "https://tls-expired-certificate.conformance.test/"},
    Redirect{.name = "redirect-loop-self", .location = "/", .arrives = ""},
};

std::string Head(const Redirect& row, std::string_view host) {
  std::string head = fmt::format("HTTP/1.1 {} Redirect\r\n", row.status);
  if (!row.location.empty()) {
    std::string location(row.location);
    constexpr std::string_view kHost = "{host}";
    if (const size_t at = location.find(kHost); at != std::string::npos) {
      location.replace(at, kHost.size(), host);
    }
    head += fmt::format("Location: {}\r\n", location);
  }
  return head;
}

bool IsOneOf(std::string_view targets, std::string_view target) {
  while (!targets.empty()) {
    const size_t space = std::min(targets.find(' '), targets.size());
    if (targets.substr(0, space) == target) return true;
    targets.remove_prefix(std::min(space + 1, targets.size()));
  }
  return false;
}

// The redirect itself, the page that it must lead to, or a 404 that shows that it led elsewhere.
Task<> ServeRedirect(Exchange exchange, const Redirect& row) {
  const std::string& asked = exchange.request().host;
  const std::string& target = exchange.request().target;
  const std::string host = fmt::format("{}.{}", row.name, kConformanceDomain);
  if (target == row.start && asked == host) {
    if (row.keep_alive) exchange.KeepAlive();
    co_await exchange.Write(Head(row, host) + std::string(row.rest));
    co_return;
  }
  const bool right_host = asked == std::string(row.host_prefix) + host;
  if (right_host && IsOneOf(row.arrives, target) && exchange.tls() == row.https) {
    co_await ServeHello(exchange);
  } else {
    co_await ServeWrongPage(exchange);
  }
}

template <const auto& kTable>
Task<> ServeRow(Exchange exchange) {
  const auto row =
      std::ranges::find(kTable, BehaviourLabel(exchange.request().host), &Redirect::name);
  if (row != kTable.end()) co_await ServeRedirect(exchange, *row);
}

template <const auto& kTable>
constexpr auto Hosts() {
  std::array<ConformanceHost, kTable.size()> hosts{};
  for (size_t i = 0; i < hosts.size(); ++i) {
    hosts[i].name = kTable[i].name;
    hosts[i].serve = ServeRow<kTable>;
  }
  return hosts;
}

constexpr auto kTable = Join(Join(Hosts<kStatuses>(), Hosts<kLocations>()), kRedirectHops);

}  // namespace

std::span<const ConformanceHost> RedirectBehaviours() { return kTable; }

}  // namespace fetchbench::origin
