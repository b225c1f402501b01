#include <array>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "origin/http_server.h"
#include "origin/planner.h"
#include "origin/responder.h"

// The life of one connection: handshake, then requests until one side has enough.
namespace fetchbench::origin {
namespace {

namespace http = boost::beast::http;
using Parser = http::request_parser<http::string_body>;

constexpr uint32_t kHeaderLimit = 64 * 1024;
constexpr uint64_t kRequestBodyLimit = uint64_t{64} * 1024;
constexpr size_t kReadSize = 4'096;
constexpr std::string_view kBadRequest =
    "HTTP/1.1 400 Bad Request\r\nServer: fetchbench-origin\r\nContent-Length: 0\r\n"
    "Connection: close\r\n\r\n";

enum class Parse : uint8_t { kDone, kMore, kBad };

// Feeds the parser all that the buffer holds.
Parse FeedParser(Parser& parser, boost::beast::flat_buffer& buffer) {
  while (buffer.size() > 0 && !parser.is_done()) {
    error_code ec;
    const size_t used = parser.put(buffer.data(), ec);
    buffer.consume(used);
    if (ec == http::error::need_more) return Parse::kMore;
    if (ec) return Parse::kBad;
  }
  return parser.is_done() ? Parse::kDone : Parse::kMore;
}

std::string HostOf(const Parser& parser, const Connection& connection) {
  const auto field = parser.get()[http::field::host];
  std::string_view host(field.data(), field.size());
  if (host.empty()) return connection.server_name();
  const size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(']', colon) == std::string_view::npos) {
    host = host.substr(0, colon);
  }
  return NormalHost(host);
}

Request ToRequest(const Parser& parser, const Connection& connection, int number, bool all) {
  const auto& message = parser.get();
  Request request;
  request.method = std::string(message.method_string().data(), message.method_string().size());
  request.target = std::string(message.target().data(), message.target().size());
  request.host = HostOf(parser, connection);
  request.number_on_connection = number;
  if (!all) return request;
  for (const auto& field : message) {
    request.headers.emplace_back(
        std::string(field.name_string().data(), field.name_string().size()),
        std::string(field.value().data(), field.value().size()));
  }
  return request;
}

// One request read from a connection, one after another.
class RequestReader {
 public:
  explicit RequestReader(Connection& connection) : connection_(connection) {}

  // Null when the connection is over, answered with 400 where that helps.
  Task<Parser*> Read() {
    parser_.emplace();
    parser_->header_limit(kHeaderLimit);
    parser_->body_limit(kRequestBodyLimit);
    parser_->eager(true);
    for (;;) {
      const Parse state = FeedParser(*parser_, buffer_);
      if (state == Parse::kDone) co_return &*parser_;
      if (state == Parse::kBad) {
        co_await connection_.Write(kBadRequest);
        co_return nullptr;
      }
      const auto space = buffer_.prepare(kReadSize);
      const size_t n =
          co_await connection_.ReadSome({static_cast<char*>(space.data()), space.size()});
      if (n == 0) co_return nullptr;
      buffer_.commit(n);
      connection_.BeginFlight();
    }
  }

 private:
  Connection& connection_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
};

// One request in the statistics, for as long as it is served, whatever ends it.
class CountedRequest {
 public:
  CountedRequest(RunStats& stats, const std::string& host) : stats_(stats), host_(host) {
    stats_.RequestBegins(host_);
  }
  CountedRequest(const CountedRequest&) = delete;
  CountedRequest& operator=(const CountedRequest&) = delete;
  ~CountedRequest() { stats_.RequestEnds(host_); }

 private:
  RunStats& stats_;
  const std::string& host_;
};

Task<> ServeRequest(Connection& connection, const Parser& parser, int number) {
  const ConnectionContext& context = connection.context();
  const std::string host = HostOf(parser, connection);
  const HostView view = context.world.Look(host);
  const Request request = ToRequest(parser, connection, number, IsConformanceHost(host));
  const CountedRequest counted(context.stats, host);
  connection.NoteHost(host);
  context.log.Requested(host, request);
  connection.keep_alive = false;
  if (view.behaviour != nullptr && view.behaviour->serve != nullptr) {
    co_await view.behaviour->serve(Exchange(connection, request));
  } else {
    constexpr unsigned kHttp10 = 10;
    co_await Respond(connection, view.plan.http, request, parser.get().keep_alive(),
                     parser.get().version() <= kHttp10);
  }
}

// The behaviour that has the address to itself on which a plain connection came in, or null.
const ConformanceHost* FirstSpeaker(const World& world, const net::ip::tcp::socket& socket) {
  error_code ec;
  const auto local = socket.local_endpoint(ec);
  return ec ? nullptr : world.SpeaksFirstAt(local.address().to_v4().to_uint());
}

Task<> SpeakFirst(Connection& connection, const ConformanceHost& behaviour) {
  Request request;
  request.host = std::string(behaviour.name) + "." + std::string(kConformanceDomain);
  connection.NoteHost(request.host);
  co_await behaviour.on_accept(Exchange(connection, request));
  co_await connection.Close(true);
}

}  // namespace

Task<> ServeConnection(ConnectionContext context, net::ip::tcp::socket socket, bool tls) {
  const ConformanceHost* speaker = tls ? nullptr : FirstSpeaker(context.world, socket);
  Connection connection(context, std::move(socket), tls);
  if (speaker != nullptr) {
    co_await SpeakFirst(connection, *speaker);
    co_return;
  }
  if (tls) {
    const bool ok = co_await connection.Handshake();
    if (!ok) co_return;
  }
  RequestReader reader(connection);
  for (int number = 0;; ++number) {
    const Parser* parser = co_await reader.Read();
    if (parser == nullptr) break;
    co_await ServeRequest(connection, *parser, number);
    connection.EndFlight();
    if (!connection.keep_alive || !connection.is_open()) break;
  }
  co_await connection.Close(connection.bare_fin());
}

}  // namespace fetchbench::origin
