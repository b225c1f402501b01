// Status lines, header sections and interim answers.
#include <fmt/format.h>

#include <array>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

using namespace std::literals;  // NOLINT(google-build-using-namespace): ""sv keeps NULs

constexpr std::array kStatusLines = {
    Canned{.name = "plain", .lines = "Content-Type: text/plain\r\n"},
    Canned{.name = "duplicate-status-line", .lines = "HTTP/1.1 200 OK\r\n"},
    Canned{.name = "leading-empty-line", .status = "\r\nHTTP/1.1 200 OK"},
    Canned{.name = "no-status-line",
           .raw = "<html><body>hello world</body></html>\n",
           .after = After::kClose},
    Canned{.name = "icy-status-line", .status = "ICY 200 OK"},
    Canned{.name = "ssh-banner", .raw = "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"},
    Canned{.name = "http-1-0-answer", .status = "HTTP/1.0 200 OK", .after = After::kClose},
    Canned{.name = "http-1-2-answer", .status = "HTTP/1.2 200 OK"},
    Canned{.name = "http-2-status-line", .status = "HTTP/2 200"},
    Canned{.name = "lower-case-http-version", .status = "http/1.1 200 OK"},
    Canned{.name = "lower-case-reason-phrase", .status = "HTTP/1.1 200 ok"},
    Canned{.name = "no-reason-phrase", .status = "HTTP/1.1 200 "},
    Canned{.name = "no-space-after-status", .status = "HTTP/1.1 200"},
    Canned{.name = "reason-phrase-latin-1", .status = "HTTP/1.1 200 Tr\350s bien"},
    Canned{.name = "status-with-two-digits", .status = "HTTP/1.1 20 OK", .after = After::kClose},
    Canned{.name = "status-with-four-digits", .status = "HTTP/1.1 2000 OK", .after = After::kClose},
    Canned{.name = "status-not-a-number", .status = "HTTP/1.1 abc OK", .after = After::kClose},
    Canned{.name = "status-404", .status = "HTTP/1.1 404 Not Found"},
    Canned{.name = "status-401",
           .status = "HTTP/1.1 401 Unauthorized",
           .lines = "WWW-Authenticate: Basic realm=\"x\"\r\n"},
    Canned{.name = "status-407",
           .status = "HTTP/1.1 407 Proxy Authentication Required",
           .lines = "Proxy-Authenticate: Basic realm=\"x\"\r\n"},
    Canned{.name = "status-408",
           .status = "HTTP/1.1 408 Request Timeout",
           .lines = "Connection: close\r\n",
           .after = After::kClose},
    Canned{.name = "status-429",
           .status = "HTTP/1.1 429 Too Many Requests",
           .lines = "Retry-After: 1\r\n"},
    Canned{.name = "status-500", .status = "HTTP/1.1 500 Internal Server Error"},
    Canned{.name = "status-503",
           .status = "HTTP/1.1 503 Service Unavailable",
           .lines = "Retry-After: 1\r\n"},
    Canned{.name = "status-600", .status = "HTTP/1.1 600 Odd"},
    Canned{.name = "status-999", .status = "HTTP/1.1 999 Request denied"},
};

constexpr std::array kHeaderLines = {
    Canned{.name = "header-line-without-colon", .lines = "this line has none\r\n"},
    Canned{.name = "space-before-colon", .lines = "X-Odd : 1\r\n"},
    Canned{.name = "header-with-nul", .lines = "X-Odd: a\000b\r\n"sv},
    Canned{.name = "empty-header-name", .lines = ": nameless\r\n"},
    Canned{.name = "header-name-with-space", .lines = "X Odd: 1\r\n"},
    Canned{.name = "header-bytes-latin-1", .lines = "X-Place: Z\374rich\r\n"},
    Canned{.name = "obs-fold", .lines = "X-Odd: one\r\n  two\r\n\tthree\r\n"},
    Canned{.name = "invalid-set-cookie",
           .lines = "Set-Cookie: a b[c]=1; path=/\r\nSet-Cookie: =2\r\nSet-Cookie: nothing\r\n"
                    "Set-Cookie: x=\"1,2;3\r\nSet-Cookie:\r\n"},
    Canned{.name = "unknown-charset", .lines = "Content-Type: text/html; charset=x-unknown\r\n"},
    Canned{.name = "quoted-charset", .lines = "Content-Type: text/html; charset=\"utf8\"\r\n"},
    Canned{.name = "no-content-type"},
    Canned{.name = "empty-content-type", .lines = "Content-Type:\r\n"},
    Canned{.name = "bare-lf", .raw = "HTTP/1.1 200 OK\nContent-Length: 12\n\nhello world\n"},
    Canned{.name = "continue-before-answer",
           .status = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK"},
    Canned{.name = "processing-before-answer",
           .status = "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK"},
    Canned{.name = "early-hints-before-answer",
           .status = "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload; as=style\r\n\r\n"
                     "HTTP/1.1 200 OK"},
    Canned{.name = "unknown-interim-before-answer",
           .status = "HTTP/1.1 199 Whatever\r\n\r\nHTTP/1.1 200 OK"},
    Canned{.name = "seven-interim-answers",
           .status = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                     "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n"
                     "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n"
                     "HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK"},
    Canned{.name = "switching-protocols-unasked",
           .raw = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n",
           .after = After::kClose},
};

// The plain answer with these header lines before its own.
Task<> ServeWithLines(Exchange exchange, std::string lines) {
  exchange.KeepAlive();
  co_await exchange.Write("HTTP/1.1 200 OK\r\n" + lines + "Content-Length: 12\r\n\r\n" +
                          std::string(kHello));
}

std::string LongLine(size_t bytes) {
  std::string line = "X-Long: ";
  line.append(bytes - line.size(), 'x');
  return line + "\r\n";
}

std::string Lines(int count, size_t bytes) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    lines += fmt::format("X-Line-{}: ", i);
    lines.append(bytes, 'x');
    lines += "\r\n";
  }
  return lines;
}

Task<> ServeLine8Kib(Exchange exchange) { co_await ServeWithLines(exchange, LongLine(8488)); }
Task<> ServeLine64Kib(Exchange exchange) { co_await ServeWithLines(exchange, LongLine(65536)); }
Task<> ServeSection17Kib(Exchange exchange) { co_await ServeWithLines(exchange, Lines(17, 1024)); }
Task<> ServeManyHeaders(Exchange exchange) { co_await ServeWithLines(exchange, Lines(200, 8)); }

// "Without end" is 64 MiB: beyond every client's cap, and no endless loop when a client has none.
constexpr uint64_t kEndlessTimes = 4096;
constexpr size_t kEndlessPiece = 16384;

Task<> ServeEndlessHeaders(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\n");
  co_await Repeat(exchange, Lines(16, kEndlessPiece / 16), Micros(0), kEndlessTimes);
}

Task<> ServeEndlessHeaderLine(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\nX-Long: ");
  co_await Repeat(exchange, std::string(kEndlessPiece, 'x'), Micros(0), kEndlessTimes);
}

// Paced: a client without a limit of its own shall run into its deadline.
Task<> ServeEndlessInterims(Exchange exchange) {
  std::string piece;
  for (int i = 0; i < 100; ++i) piece += "HTTP/1.1 100 Continue\r\n\r\n";
  co_await Repeat(exchange, piece, std::chrono::milliseconds(10), 12'000);
}

constexpr std::array kServed = {
    ConformanceHost{.name = "header-line-of-8-kib", .serve = ServeLine8Kib},
    ConformanceHost{.name = "header-line-of-64-kib", .serve = ServeLine64Kib},
    ConformanceHost{.name = "header-section-of-17-kib", .serve = ServeSection17Kib},
    ConformanceHost{.name = "many-headers", .serve = ServeManyHeaders},
    ConformanceHost{.name = "endless-headers", .serve = ServeEndlessHeaders},
    ConformanceHost{.name = "endless-header-line", .serve = ServeEndlessHeaderLine},
    ConformanceHost{.name = "endless-interim-answers", .serve = ServeEndlessInterims},
};

constexpr auto kTable =
    Join(Join(CannedHosts<kStatusLines>(), CannedHosts<kHeaderLines>()), kServed);

}  // namespace

std::span<const ConformanceHost> HeaderBehaviours() { return kTable; }

}  // namespace fetchbench::origin
