#include "origin/responder.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/status.hpp>
#include <cmath>

#include "origin/body.h"

namespace fetchbench::origin {
namespace {

// A paced body is sent in slices this long, so that one connection costs at most 50 timers a
// second.
constexpr double kSliceSeconds = 0.02;
constexpr double kMinSlice = 4'096;
constexpr double kMaxSlice = 256 * 1024;
// A response that fits is sent with its head in one write, which is one TLS record.
constexpr uint64_t kOneWrite = uint64_t{15} * 1024;
// Bodies that are over sooner than this are not paced: a timer could not be that exact.
constexpr Micros kLeastBodyTime{500};

std::string_view ReasonOf(int status) {
  const auto reason =
      boost::beast::http::obsolete_reason(static_cast<boost::beast::http::status>(status));
  return {reason.data(), reason.size()};
}

// When the bytes of a body are due.
class Pacer {
 public:
  Pacer(const HttpPlan& plan, SteadyTime start)
      : paced_(plan.bytes_per_second != 0 && 1e6 * static_cast<double>(plan.body_bytes) /
                                                     static_cast<double>(plan.bytes_per_second) >=
                                                 static_cast<double>(kLeastBodyTime.count())),
        rate_(static_cast<double>(plan.bytes_per_second)),
        start_(start) {}

  bool paced() const { return paced_; }
  size_t slice() const {
    if (!paced_) return kPatternSize;
    return static_cast<size_t>(std::clamp(rate_ * kSliceSeconds, kMinSlice, kMaxSlice));
  }
  // The moment at which the first `bytes` bytes should have been sent.
  SteadyTime DueAt(uint64_t bytes) const {
    return start_ + Micros(std::llround(1e6 * static_cast<double>(bytes) / rate_));
  }

 private:
  bool paced_;
  double rate_;
  SteadyTime start_;
};

// Writes the first `count` bytes of the body (all of it with its end when count is its size).
template <typename Body>
Task<bool> WriteBody(Connection& connection, const HttpPlan& plan, Body body, uint64_t count) {
  const Pacer pacer(plan, std::chrono::steady_clock::now());
  uint64_t sent = 0;
  while (!body.done() && (sent < count || count == plan.body_bytes)) {
    uint64_t slice = std::min<uint64_t>(pacer.slice(), count - sent);
    if (pacer.paced()) co_await connection.SleepUntil(pacer.DueAt(sent + slice));
    do {
      const std::string_view bytes = body.Next(std::max<uint64_t>(1, slice));
      const bool ok = co_await connection.Write(bytes);
      if (!ok) co_return false;
      const uint64_t progress = std::min(slice, body.offset() - sent);
      sent += progress;
      slice -= progress;
    } while (slice > 0);
  }
  co_return true;
}

Task<bool> WriteFramedBody(Connection& connection, const HttpPlan& plan, Framing framing,
                           uint64_t count) {
  if (framing == Framing::kChunked) {
    return WriteBody(connection, plan, ChunkedBody(plan.body_bytes), count);
  }
  return WriteBody(connection, plan, PlainBody(plan.body_bytes), count);
}

// Head and body in one write, where the body is small and not paced.
void AppendSmallBody(std::string& out, const HttpPlan& plan, Framing framing) {
  if (framing == Framing::kChunked) {
    ChunkedBody body(plan.body_bytes);
    while (!body.done()) out += body.Next(kOneWrite);
  } else {
    out += PlainBody(plan.body_bytes).Next(kOneWrite);
  }
}

Task<> BreakInBody(Connection& connection, HttpBreak breaks) {
  if (breaks == HttpBreak::kResetInBody) {
    connection.Reset();
  } else {
    co_await connection.WaitForPeerClose(Exchange::kMaxHold);
  }
}

}  // namespace

Answer ChooseAnswer(const HttpPlan& plan, const Request& request, bool tls) {
  Answer answer;
  const bool at_root = request.target == "/";
  if (!tls && plan.upgrade_http) {
    answer.location = fmt::format("https://{}{}", request.host, request.target);
  } else if (tls && plan.redirect == RedirectKind::kToHttp) {
    answer.location = fmt::format("http://{}{}", request.host, request.target);
  } else if (tls && plan.redirect == RedirectKind::kToWww && !request.host.starts_with("www.")) {
    answer.location = fmt::format("https://www.{}{}", request.host, request.target);
  } else if (at_root && plan.redirect == RedirectKind::kToPath) {
    answer.location = "/start";
  }
  if (answer.location.empty()) {
    answer.status = plan.status;
  } else {
    answer.status = plan.redirect == RedirectKind::kToPath ? 302 : 301;
    answer.is_final = false;
  }
  constexpr int kNoContent = 204;
  constexpr int kNotModified = 304;
  answer.has_body = answer.is_final && request.method != "HEAD" && answer.status != kNoContent &&
                    answer.status != kNotModified;
  return answer;
}

std::string MakeHead(const HttpPlan& plan, const Answer& answer, Framing framing, bool keep_alive) {
  constexpr size_t kTypicalHead = 256;
  std::string head;
  head.reserve(kTypicalHead + plan.padding_bytes);
  const auto out = std::back_inserter(head);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nServer: fetchbench-origin\r\n", answer.status,
                 ReasonOf(answer.status));
  if (!answer.location.empty()) fmt::format_to(out, "Location: {}\r\n", answer.location);
  if (!answer.is_final) {
    head += "Content-Length: 0\r\n";
  } else {
    head += "Content-Type: text/html; charset=utf-8\r\n";
    if (framing == Framing::kChunked) head += "Transfer-Encoding: chunked\r\n";
    if (framing == Framing::kContentLength) {
      fmt::format_to(out, "Content-Length: {}\r\n", plan.body_bytes);
    }
  }
  if (!keep_alive) head += "Connection: close\r\n";
  if (plan.padding_bytes > 0) {
    // The pattern holds newlines, so the padding is one repeated letter.
    fmt::format_to(out, "X-Padding: {:x>{}}\r\n", "", plan.padding_bytes);
  }
  head += "\r\n";
  return head;
}

Task<> Respond(Connection& connection, const HttpPlan& plan, const Request& request,
               bool client_keeps_alive, bool http10) {
  const Answer answer = ChooseAnswer(plan, request, connection.is_tls());
  const HttpBreak breaks = answer.is_final ? plan.breaks : HttpBreak::kNone;
  co_await connection.Sleep(plan.first_byte);
  if (breaks == HttpBreak::kReset) connection.Reset();
  if (breaks == HttpBreak::kSilent) co_await connection.WaitForPeerClose(Exchange::kMaxHold);
  if (breaks == HttpBreak::kReset || breaks == HttpBreak::kSilent) co_return;

  const bool chunked_to_old = http10 && plan.framing == Framing::kChunked;
  const Framing framing = chunked_to_old ? Framing::kClose : plan.framing;
  const bool ends_by_close = answer.has_body && framing == Framing::kClose;
  connection.keep_alive = client_keeps_alive && plan.keep_alive && !ends_by_close;
  connection.context().stats.CountResponse(answer.status);

  std::string head = MakeHead(plan, answer, framing, connection.keep_alive);
  const bool broken = breaks != HttpBreak::kNone;
  const bool paced = Pacer(plan, {}).paced();
  const bool one_write = answer.has_body && !broken && !paced && plan.body_bytes <= kOneWrite;
  if (one_write) AppendSmallBody(head, plan, framing);
  const bool ok = co_await connection.Write(head);
  if (!ok || one_write || !answer.has_body) co_return;
  const uint64_t count = broken ? plan.body_bytes / 2 : plan.body_bytes;
  const bool sent = co_await WriteFramedBody(connection, plan, framing, count);
  if (sent && broken) co_await BreakInBody(connection, breaks);
}

}  // namespace fetchbench::origin
