// Where a body ends: lengths, chunks, closes, and statuses that have none.
#include <array>
#include <chrono>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

using std::chrono::milliseconds;

constexpr std::array kLengths = {
    Canned{.name = "body-shorter-than-announced", .body = "hello ", .after = After::kClose},
    Canned{.name = "body-longer-than-announced",
           .body = "hello world\nand more that is not part of it"},
    Canned{.name = "body-announced-never-sent", .body = ""},
    Canned{.name = "body-announced-then-close", .body = "", .after = After::kClose},
    Canned{.name = "no-length-and-close", .length = false, .after = After::kClose},
    Canned{.name = "no-length-never-closes", .length = false},
    Canned{.name = "length-zero-with-body", .lines = "Content-Length: 0\r\n", .length = false},
    Canned{.name = "duplicate-content-length-same", .lines = "Content-Length: 12\r\n"},
    Canned{.name = "duplicate-content-length-conflicting",
           .lines = "Content-Length: 13\r\n",
           .after = After::kClose},
    Canned{.name = "content-length-list", .lines = "Content-Length: 12, 12\r\n", .length = false},
    Canned{.name = "content-length-list-conflicting",
           .lines = "Content-Length: 12, 13\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-not-a-number",
           .lines = "Content-Length: twelve\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-negative",
           .lines = "Content-Length: -12\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-with-plus",
           .lines = "Content-Length: +12\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-empty",
           .lines = "Content-Length:\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-overflow",
           .lines = "Content-Length: 99999999999999999999999\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-huge",
           .lines = "Content-Length: 1099511627776\r\n",
           .length = false,
           .after = After::kClose},
    Canned{.name = "status-204",
           .status = "HTTP/1.1 204 No Content",
           .body = "",
           .length = false,
           .after = After::kKeepAlive},
    Canned{.name = "status-204-with-length", .status = "HTTP/1.1 204 No Content", .body = ""},
    Canned{.name = "status-204-with-body", .status = "HTTP/1.1 204 No Content"},
    Canned{.name = "status-304-with-length", .status = "HTTP/1.1 304 Not Modified", .body = ""},
    Canned{.name = "status-304-with-body", .status = "HTTP/1.1 304 Not Modified"},
    Canned{.name = "status-205-with-body",
           .status = "HTTP/1.1 205 Reset Content",
           .after = After::kClose},
};

constexpr std::string_view kChunked = "Transfer-Encoding: chunked\r\n";

constexpr Canned Chunked(std::string_view name, std::string_view body, After after = After::kHold) {
  return {.name = name, .lines = kChunked, .body = body, .length = false, .after = after};
}

constexpr std::string_view kOneChunk = "c\r\nhello world\n\r\n0\r\n\r\n";

constexpr std::array kChunks = {
    Chunked("chunked", "6\r\nhello \r\n6\r\nworld\n\r\n0\r\n\r\n"),
    Canned{.name = "chunked-upper-case-name",
           .lines = "TRANSFER-ENCODING: Chunked\r\n",
           .body = kOneChunk,
           .length = false},
    Chunked("chunked-one-byte-chunks",
            "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n1\r\n \r\n1\r\nw\r\n1\r\no\r\n"
            "1\r\nr\r\n1\r\nl\r\n1\r\nd\r\n1\r\n\n\r\n0\r\n\r\n"),
    Chunked("chunked-with-extensions",
            "6;name=value\r\nhello \r\n6;a;b=\"q;\\\"x\"\r\nworld\n\r\n0;last\r\n\r\n"),
    Chunked("chunked-with-trailers",
            "c\r\nhello world\n\r\n0\r\nX-Checksum: 1\r\nX-Signature: two\r\n\r\n"),
    Chunked("chunked-leading-zeros", "000c\r\nhello world\n\r\n000\r\n\r\n"),
    Chunked("chunked-size-then-spaces", "c  \r\nhello world\n\r\n0  \r\n\r\n"),
    Chunked("chunked-bare-lf", "c\nhello world\n\n0\n\n"),
    Chunked("chunked-empty", "0\r\n\r\n"),
    Chunked("chunked-bad-size", "xyz\r\nhello world\n\r\n0\r\n\r\n", After::kClose),
    Chunked("chunked-negative-size", "-1\r\nhello world\n\r\n0\r\n\r\n", After::kClose),
    Chunked("chunked-size-missing", "\r\nhello world\n\r\n0\r\n\r\n", After::kClose),
    Chunked("chunked-size-overflow", "fffffffffffffffffff\r\nhello world\n\r\n0\r\n\r\n",
            After::kClose),
    Chunked("chunked-data-too-long", "6\r\nhello world\n\r\n0\r\n\r\n", After::kClose),
    Chunked("chunked-without-last-chunk", "c\r\nhello world\n\r\n", After::kClose),
    Chunked("chunked-cut-in-chunk", "c\r\nhello ", After::kClose),
    Chunked("chunked-cut-in-trailers", "c\r\nhello world\n\r\n0\r\n", After::kClose),
    Chunked("chunked-stops", "6\r\nhello \r\n"),
    Canned{.name = "chunked-in-http-1-0",
           .status = "HTTP/1.0 200 OK",
           .lines = kChunked,
           .body = kOneChunk,
           .length = false,
           .after = After::kClose},
    Canned{.name = "content-length-and-chunked", .lines = kChunked, .body = kOneChunk},
    Canned{.name = "transfer-encoding-identity",
           .lines = "Transfer-Encoding: identity\r\n",
           .after = After::kClose},
    Canned{.name = "transfer-encoding-unknown",
           .lines = "Transfer-Encoding: foo\r\n",
           .length = false,
           .after = After::kClose},
};

Task<> ServePauseBeforeBody(Exchange exchange) {
  exchange.KeepAlive();
  co_await exchange.Write(std::string(kHelloHead));
  co_await exchange.Sleep(milliseconds(500));
  co_await exchange.Write(std::string(kHello));
}

// The packet boundary lies between every CR and its LF.
Task<> ServeSplitLineEnds(Exchange exchange) {
  std::string rest = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  rest += kOneChunk;
  while (!rest.empty()) {
    const size_t cr = rest.find('\r');
    const size_t piece = cr == std::string::npos ? rest.size() : cr + 1;
    const bool sent = co_await exchange.Write(rest.substr(0, piece));
    if (!sent) co_return;
    co_await exchange.Sleep(milliseconds(10));
    rest.erase(0, piece);
  }
  co_await Hold(exchange);
}

// "Without end" is 64 MiB, as for headers.
constexpr uint64_t kEndlessTimes = 4096;
constexpr std::string_view kChunkedHead = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

Task<> ServeEndlessExtension(Exchange exchange) {
  co_await exchange.Write(std::string(kChunkedHead) + "c;x=");
  co_await Repeat(exchange, std::string(16384, 'x'), Micros(0), kEndlessTimes);
}

Task<> ServeEndlessTrailers(Exchange exchange) {
  co_await exchange.Write(std::string(kChunkedHead) + "c\r\nhello world\n\r\n0\r\n");
  std::string trailers;
  for (int i = 0; i < 16; ++i) trailers += "X-Trailer: " + std::string(1011, 'x') + "\r\n";
  co_await Repeat(exchange, trailers, Micros(0), kEndlessTimes);
}

constexpr std::array kServed = {
    ConformanceHost{.name = "chunked-endless-extension", .serve = ServeEndlessExtension},
    ConformanceHost{.name = "chunked-endless-trailers", .serve = ServeEndlessTrailers},
    ConformanceHost{.name = "headers-then-pause-then-body", .serve = ServePauseBeforeBody},
    ConformanceHost{.name = "split-between-cr-and-lf", .serve = ServeSplitLineEnds},
};

constexpr auto kTable = Join(Join(CannedHosts<kLengths>(), CannedHosts<kChunks>()), kServed);

}  // namespace

std::span<const ConformanceHost> FramingBehaviours() { return kTable; }

}  // namespace fetchbench::origin
