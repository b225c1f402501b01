#include "agent/native/fetch.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "absl/strings/escaping.h"
#include "agent/native/connection.h"
#include "agent/native/dial.h"
#include "agent/native/response_reader.h"
#include "agent/native/url.h"

namespace fetchbench::native {
namespace {

using Want = Connection::Want;
using std::chrono::duration_cast;
using std::chrono::microseconds;

// Reads of one connection before others get their turn: a fast endless body must not hold the
// worker.
constexpr int kReadsATurn = 16;

// One URL's way through its hops.
struct Journey {
  FetchEnv& env;
  FetchControl& control;
  Record& record;
  Url url;
  std::unique_ptr<Connection> connection = nullptr;  // to url's origin, when it can be used again
  error_code error = {};
  std::string error_text = {};
  uint64_t wire_bytes = 0;

  bool failed() const { return error.failed(); }

  // The reason for stopping wins over the error that closing the socket made.
  void Fail(const error_code& ec, std::string text = {}) {
    error = control.stop() ? control.stop() : ec;
    error_text = control.stop() || text.empty() ? error.message() : std::move(text);
  }

  void CloseConnection() {
    if (!connection) return;
    wire_bytes += connection->wire_bytes_read();
    connection.reset();
  }
};

int64_t UsSince(const FetchEnv& env, SteadyTime start) {
  return duration_cast<microseconds>(env.clock.Now() - start).count();
}

void AddTo(int64_t& sum, int64_t us) { sum = (sum == kNotTold ? 0 : sum) + us; }

std::string AddressText(const Endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

std::string RequestText(const FetchPolicy& policy, const Url& url) {
  std::string text = fmt::format(
      "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: */*\r\nAccept-Encoding: "
      "identity\r\n",
      url.target, url.HostHeader(), policy.user_agent);
  if (url.credentials) {
    text += fmt::format("Authorization: Basic {}\r\n", absl::Base64Escape(*url.credentials));
  }
  text += "\r\n";
  return text;
}

Task<> Handshake(Journey& j) {
  j.control.phase = Phase::kTls;
  const SteadyTime start = j.env.clock.Now();
  Connection& connection = *j.connection;
  connection.StartTls(j.env.tls.NewSession(j.url));
  error_code ec;
  while (true) {
    const Want want = connection.Handshake(ec);
    if (want == Want::kNothing) break;
    const auto [wait_error] = co_await connection.Wait(want, kTuple);
    ec = wait_error;
    if (ec || j.control.stop()) break;
  }
  AddTo(j.record.tls_us, UsSince(j.env, start));
  if (ec || j.control.stop()) {
    j.Fail(ec, connection.ErrorText(ec));
  } else {
    j.record.tls_version = TlsVersion(*connection.tls());
  }
}

// A connection to the origin of j.url in j.connection.
Task<> Connect(Journey& j) {
  DialResult dialled =
      co_await Dial(j.env, j.control, j.env.policy.connect_to.Apply(j.url.host, j.url.port));
  AddTo(j.record.dns_us, dialled.dns.count());
  if (dialled.resolved) AddTo(j.record.connect_us, dialled.connect.count());
  if (dialled.error) {
    j.Fail(dialled.error);
    co_return;
  }
  j.record.remote_address = AddressText(dialled.endpoint);
  j.record.tls_version.clear();
  j.connection = std::make_unique<Connection>(std::move(dialled.socket), dialled.endpoint);
  if (!j.url.https) co_return;
  const AbortScope abort(j.control, *j.connection);
  co_await Handshake(j);
}

// An error is not the end: the server may have answered before it stopped reading.
Task<error_code> SendRequest(Journey& j) {
  j.control.phase = Phase::kRequest;
  const std::string text = RequestText(j.env.policy, j.url);
  size_t sent = 0;
  while (sent < text.size()) {
    size_t n = 0;
    error_code ec;
    const Want want = j.connection->Write(text.data() + sent, text.size() - sent, n, ec);
    if (want != Want::kNothing) {
      const auto [wait_error] = co_await j.connection->Wait(want, kTuple);
      ec = wait_error;
    }
    if (ec || j.control.stop()) co_return ec;
    sent += n;
  }
  co_return error_code();
}

bool IsRedirect(const ResponseReader& reader) {
  switch (reader.status()) {
    case 301:
    case 302:
    case 303:
    case 307:
    case 308:
      return !reader.location().empty();
    default:
      return false;
  }
}

// What one read gave goes into the reader. True when the response is over, well or not.
bool Consume(Journey& j, ResponseReader& reader, size_t n, const error_code& read_error,
             const error_code& send_error) {
  error_code ec;
  if (read_error) {
    reader.Finish(read_error, ec);
    const bool told_by_peer = read_error == net::error::eof || read_error == TlsErrc::kTruncated;
    if (ec && !told_by_peer) ec = read_error;
    if (ec == FetchErrc::kClosed && send_error) ec = send_error;
    if (ec) j.Fail(ec, j.connection->ErrorText(ec));
    return true;
  }
  if (j.record.first_byte_us == kNotTold) {
    j.record.first_byte_us =
        duration_cast<microseconds>(j.env.clock.Now().time_since_epoch()).count();
  }
  reader.Feed({j.env.scratch.data(), n}, ec);
  if (reader.head_done()) j.control.phase = Phase::kBody;
  if (ec) j.Fail(ec);
  return ec || reader.done();
}

// Reads until the response is over. A redirect's body is not waited for: it counts for nothing.
Task<> ReadResponse(Journey& j, ResponseReader& reader, error_code send_error) {
  j.control.phase = Phase::kHeaders;
  j.record.first_byte_us = kNotTold;
  for (int reads = 1;; ++reads) {
    size_t n = 0;
    error_code ec;
    const Want want = j.connection->Read(j.env.scratch.data(), j.env.scratch.size(), n, ec);
    if (want == Want::kNothing) {
      if (Consume(j, reader, n, ec, send_error)) co_return;
      if (reads % kReadsATurn != 0) continue;
      co_await net::post(j.env.executor, kTuple);
    } else {
      if (reader.head_done() && IsRedirect(reader)) co_return;
      const auto [wait_error] = co_await j.connection->Wait(want, kTuple);
      ec = wait_error;
    }
    if (j.control.stop() || (want != Want::kNothing && ec)) {
      j.Fail(ec);
      co_return;
    }
  }
}

// One request and its response, on a connection that was kept or on a new one.
Task<> Exchange(Journey& j, ResponseReader& reader) {
  const bool reused = j.connection != nullptr;
  if (!reused) {
    co_await Connect(j);
    if (j.failed()) co_return;
  }
  {
    const AbortScope abort(j.control, *j.connection);
    const error_code send_error = co_await SendRequest(j);
    if (j.control.stop()) {
      j.Fail(send_error);
      co_return;
    }
    co_await ReadResponse(j, reader, send_error);
  }
  // The server may close a kept connection at any time: that says nothing about this request.
  const bool unanswered = j.failed() && j.record.first_byte_us == kNotTold && !j.control.stop();
  if (reused && unanswered) {
    j.CloseConnection();
    j.error = {};
    j.error_text.clear();
    co_await Exchange(j, reader);
  }
}

// Goes on to where the redirect leads. False when the journey is over.
bool FollowRedirect(Journey& j, const ResponseReader& reader) {
  j.control.phase = Phase::kRedirect;
  if (j.record.redirects >= j.env.policy.max_redirects) {
    j.Fail(FetchErrc::kRedirectLimit);
    return false;
  }
  auto next = ResolveLocation(j.url, reader.location());
  if (!next.ok()) {
    j.Fail(FetchErrc::kRedirectInvalid, fmt::format("bad Location {:.200}: {}", reader.location(),
                                                    std::string(next.status().message())));
    return false;
  }
  const bool same_origin = SameOrigin(j.url, *next);
  if (!same_origin || !reader.done() || !reader.keep_alive()) j.CloseConnection();
  // As curl: credentials of the first URL go to its own origin only.
  if (same_origin && !next->credentials) next->credentials = j.url.credentials;
  j.url = *std::move(next);
  ++j.record.redirects;
  return true;
}

Task<> Travel(Journey& j) {
  while (true) {
    ResponseReader reader(j.env.policy.max_body);
    co_await Exchange(j, reader);
    if (reader.head_done()) {
      j.record.status = reader.status();
      j.record.http_version = reader.version() == 10 ? "1.0" : "1.1";
    }
    j.record.body_bytes = static_cast<int64_t>(reader.body_bytes());
    const bool redirect = reader.head_done() && IsRedirect(reader) && !j.control.stop();
    if (redirect) {
      // Whatever its body was, the redirect itself is known.
      j.error = {};
      j.error_text.clear();
      j.record.body_bytes = 0;
      if (FollowRedirect(j, reader)) {
        j.record.status = 0;
        continue;
      }
    }
    j.CloseConnection();
    co_return;
  }
}

std::string FailureText(const Journey& j, const FetchPolicy& policy) {
  if (j.error == FetchErrc::kDeadline) {
    return fmt::format("deadline of {} ms passed while {}", policy.timeout.count(),
                       PhaseName(j.control.phase));
  }
  if (j.error == FetchErrc::kCancelled) {
    return fmt::format("cancelled while {}", PhaseName(j.control.phase));
  }
  return j.error_text;
}

}  // namespace

Task<FetchResult> Fetch(FetchEnv& env, FetchControl& control, std::string_view text) {
  FetchResult result;
  Record& record = result.record;
  const SteadyTime start = env.clock.Now();
  record.start_us = env.run_clock.WallUsAt(start);
  record.redirects = 0;
  auto url = ParseUrl(text);
  if (!url.ok()) {
    record.outcome = Outcome::kInvalidUrl;
    record.error = std::string(url.status().message());
    record.duration_us = UsSince(env, start);
    co_return result;
  }
  env.wheel.Arm(control, start + env.policy.timeout);
  Journey j{.env = env, .control = control, .record = record, .url = *std::move(url)};
  co_await Travel(j);
  DeadlineWheel::Disarm(control);
  record.duration_us = UsSince(env, start);
  if (record.first_byte_us != kNotTold) {
    record.first_byte_us -= duration_cast<microseconds>(start.time_since_epoch()).count();
  }
  record.wire_bytes = static_cast<int64_t>(j.wire_bytes);
  if (!j.failed()) {
    record.outcome = Outcome::kStatus;
    co_return result;
  }
  if (IsFatal(j.error)) result.fatal = j.error;
  record.outcome = OutcomeOf(control.phase, j.error);
  record.error = FailureText(j, env.policy);
  co_return result;
}

}  // namespace fetchbench::native
