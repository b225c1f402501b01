// What is in a body, and how much of it.
#include <array>
#include <chrono>
#include <string>

#include "origin/behaviours/canned.h"
#include "origin/behaviours/steps.h"

namespace fetchbench::origin {
namespace {

using namespace std::literals;  // NOLINT(google-build-using-namespace): ""sv keeps NULs
using std::chrono::microseconds;

constexpr uint64_t kMib = 1024 * 1024;

// "hello world\n" as gzip writes it; its inner 14 bytes are the same as raw deflate.
constexpr std::string_view kGzip =
    "\037\213\010\000\000\000\000\000\002\003\313\110\315\311\311\127\050\317\057\312\111\341\002"
    "\000"
    "\055\073\010\257\014\000\000\000"sv;
static_assert(kGzip.size() == 32);

constexpr std::array kCanned = {
    Canned{.name = "empty-body", .lines = "Content-Length: 0\r\n", .body = "", .length = false},
    Canned{.name = "gzip-unasked",
           .lines = "Content-Encoding: gzip\r\nContent-Length: 32\r\n",
           .body = kGzip,
           .length = false},
    Canned{.name = "gzip-truncated",
           .lines = "Content-Encoding: gzip\r\nContent-Length: 20\r\n",
           .body = kGzip.substr(0, 20),
           .length = false},
    Canned{.name = "gzip-empty-chunked",
           .lines = "Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n",
           .body = "0\r\n\r\n",
           .length = false},
    Canned{.name = "raw-deflate",
           .lines = "Content-Encoding: deflate\r\nContent-Length: 14\r\n",
           .body = kGzip.substr(10, 14),
           .length = false},
    Canned{.name = "zstd-unasked", .lines = "Content-Encoding: zstd\r\n"},
    Canned{.name = "unknown-content-encoding", .lines = "Content-Encoding: x-unknown\r\n"},
    // Twelve bytes too: a byte order mark, then characters of two, three and four bytes.
    Canned{.name = "utf-8-body",
           .lines = "Content-Type: text/plain; charset=utf-8\r\n",
           .body = "\xEF\xBB\xBF\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
    Canned{.name = "meta-refresh",
           .lines = "Content-Type: text/html\r\n",
           .body = "<meta http-equiv=\"refresh\" content=\"0; url=/elsewhere\">",
           .length = false,
           .after = After::kClose},
};

Task<> ServeBig(Exchange exchange) {
  exchange.KeepAlive();
  const bool sent = co_await exchange.Write("HTTP/1.1 200 OK\r\nContent-Length: 5242880\r\n\r\n");
  if (sent) {
    co_await exchange.WritePattern(5 * kMib);
  }
}

Task<> ServeBigChunked(Exchange exchange) {
  exchange.KeepAlive();
  co_await exchange.Write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 320; ++i) {
    co_await exchange.Write("4000\r\n");
    const bool sent = co_await exchange.WritePattern(0x4000);
    if (!sent) co_return;
    co_await exchange.Write("\r\n");
  }
  co_await exchange.Write("0\r\n\r\n");
}

Task<> ServeBigWithoutLength(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\n\r\n");
  co_await exchange.WritePattern(kMib);
}

Task<> ServeBinary(Exchange exchange) {
  exchange.KeepAlive();
  std::string message = "HTTP/1.1 200 OK\r\nContent-Length: 256\r\n\r\n";
  for (int i = 0; i < 256; ++i) message += static_cast<char>(i);
  co_await exchange.Write(message);
}

// "Without end" at 1 MiB/s is two minutes, and 16 GiB as fast as the client reads.
constexpr microseconds kPause{62'500};
constexpr uint64_t kPieces = 120 * 16;

Task<> ServeEndless(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\n\r\n");
  co_await Repeat(exchange, std::string(kMib / 16, 'x'), kPause, kPieces);
}

Task<> ServeEndlessChunked(Exchange exchange) {
  co_await exchange.Write(
      "HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=frame\r\n"
      "Transfer-Encoding: chunked\r\n\r\n");
  std::string frame = "--frame\r\nContent-Type: image/jpeg\r\n\r\n";
  frame.resize(0x10000, 'x');
  co_await Repeat(exchange, "10000\r\n" + frame + "\r\n", kPause, kPieces);
}

Task<> ServeEndlessUnpaced(Exchange exchange) {
  co_await exchange.Write("HTTP/1.1 200 OK\r\n\r\n");
  co_await exchange.WritePattern(16 * 1024 * kMib);
}

constexpr std::array kServed = {
    ConformanceHost{.name = "big-body", .serve = ServeBig},
    ConformanceHost{.name = "big-chunked-body", .serve = ServeBigChunked},
    ConformanceHost{.name = "big-body-without-length", .serve = ServeBigWithoutLength},
    ConformanceHost{.name = "binary-body", .serve = ServeBinary},
    ConformanceHost{.name = "endless-body", .serve = ServeEndless},
    ConformanceHost{.name = "endless-chunked-body", .serve = ServeEndlessChunked},
    ConformanceHost{.name = "endless-body-unpaced", .serve = ServeEndlessUnpaced},
};

constexpr auto kTable = Join(CannedHosts<kCanned>(), kServed);

}  // namespace

std::span<const ConformanceHost> BodyBehaviours() { return kTable; }

}  // namespace fetchbench::origin
