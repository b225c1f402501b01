#include "common/docker/engine_call.h"

#include <fmt/format.h>

#include <array>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <utility>

#include "common/docker/engine_json.h"

namespace fetchbench::docker {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

using ConnectionPtr = std::shared_ptr<EngineConnection>;

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kMaxErrorBytes = 64 << 10;
constexpr uint32_t kMaxHeadBytes = 64 << 10;

SteadyTime DeadlineOf(const EngineCall& call) {
  return std::chrono::steady_clock::now() + call.deadline;
}

// beast's string_view is not std's on every version.
beast::string_view View(std::string_view text) { return {text.data(), text.size()}; }

http::request<http::string_body> MakeRequest(EngineCall& call, bool hijack) {
  http::request<http::string_body> request(call.method, View(call.target), 11);
  request.set(http::field::host, "docker");
  request.set(http::field::user_agent, "fetchbench");
  if (hijack) {
    request.set(http::field::connection, "Upgrade");
    request.set(http::field::upgrade, "tcp");
  } else {
    request.set(http::field::connection, "close");
  }
  if (call.tar) {
    request.set(http::field::content_type, "application/x-tar");
    request.content_length(call.tar->size);
  } else if (!call.body.empty() || call.method == http::verb::post) {
    if (!call.body.empty()) request.set(http::field::content_type, "application/json");
    request.body() = std::move(call.body);
    request.prepare_payload();
  }
  return request;
}

Task<absl::Status> SendTar(ConnectionPtr connection, BodySource source) {
  std::string piece(kPieceBytes, '\0');
  uint64_t left = source.size;
  while (left > 0) {
    const absl::StatusOr<size_t> n =
        source.read(piece.data(), std::min<uint64_t>(piece.size(), left));
    if (!n.ok()) co_return n.status();
    if (*n == 0) {
      co_return absl::DataLossError(
          fmt::format("{}: the archive ended {} bytes early", connection->what(), left));
    }
    left -= *n;
    const auto [error, sent] =
        co_await net::async_write(connection->socket(), net::buffer(piece.data(), *n), kAsTuple);
    if (error) co_return connection->Explain(error);
  }
  co_return absl::OkStatus();
}

// Connects and sends. An Engine may answer, and close, before it has taken all of an archive: then
// the answer is what tells.
Task<absl::StatusOr<ConnectionPtr>> Send(EnginePort port, EngineCall call, bool hijack) {
  absl::StatusOr<ConnectionPtr> opened =
      co_await EngineConnection::Open(std::move(port), call.what, DeadlineOf(call));
  if (!opened.ok()) co_return opened.status();
  ConnectionPtr connection = *std::move(opened);
  const http::request<http::string_body> request = MakeRequest(call, hijack);
  http::request_serializer<http::string_body> serializer(request);
  const auto [error, n] = co_await http::async_write(connection->socket(), serializer, kAsTuple);
  if (error) co_return connection->Explain(error);
  if (call.tar) {
    absl::Status sent = co_await SendTar(connection, *std::move(call.tar));
    if (!sent.ok() && !absl::IsUnavailable(sent)) co_return sent;
  }
  co_return connection;
}

// The rest of an answer's body, into `sink`.
template <typename Parser, typename Sink>
Task<absl::Status> ReadBody(ConnectionPtr connection, Parser& parser, Sink& sink) {
  std::array<char, 16 << 10> piece;  // NOLINT(cppcoreguidelines-pro-type-member-init)
  while (!parser.is_done()) {
    parser.get().body().data = piece.data();
    parser.get().body().size = piece.size();
    auto [error, n] = co_await http::async_read_some(connection->socket(), connection->buffer(),
                                                     parser, kAsTuple);
    if (error == http::error::need_buffer) error = {};
    if (error) co_return connection->Explain(error);
    const size_t got = piece.size() - parser.get().body().size;
    if (got > 0) sink(std::string_view(piece.data(), got));
  }
  co_return absl::OkStatus();
}

using Parser = http::response_parser<http::buffer_body>;

Task<absl::Status> ReadHead(ConnectionPtr connection, Parser& parser) {
  parser.body_limit(boost::none);
  parser.header_limit(kMaxHeadBytes);
  const auto [error, n] = co_await http::async_read_header(connection->socket(),
                                                           connection->buffer(), parser, kAsTuple);
  if (error) co_return connection->Explain(error);
  co_return absl::OkStatus();
}

// Keeps the first bytes of an answer.
struct Keeper {
  std::string text;
  size_t limit = 0;
  bool too_long = false;
  void operator()(std::string_view bytes) {
    text += bytes.substr(0, limit - std::min(limit, text.size()));
    too_long = too_long || text.size() >= limit;
  }
};

// For an answer of 400 and above.
Task<absl::Status> ReadError(ConnectionPtr connection, Parser& parser) {
  Keeper keeper;
  keeper.limit = kMaxErrorBytes;
  // What came before a break is as good.
  [[maybe_unused]] const absl::Status whole = co_await ReadBody(connection, parser, keeper);
  co_return ReplyError(connection->what(), parser.get().result_int(), keeper.text);
}

// Sends the call and takes the head of its answer; what comes behind it is the caller's to read.
// Answers of 400 and above are errors.
Task<absl::StatusOr<ConnectionPtr>> Exchange(EnginePort port, EngineCall call, bool hijack,
                                             Parser& parser) {
  absl::StatusOr<ConnectionPtr> sent = co_await Send(std::move(port), std::move(call), hijack);
  if (!sent.ok()) co_return sent.status();
  if (absl::Status s = co_await ReadHead(*sent, parser); !s.ok()) co_return s;
  if (parser.get().result_int() >= 400) co_return co_await ReadError(*sent, parser);
  co_return sent;
}

std::string Hint(unsigned status, std::string_view message) {
  const auto says = [message](std::string_view part) {
    return message.find(part) != std::string_view::npos;
  };
  if (says("No such image")) return ": build it or load it first";
  if (says("client version") && says("too"))
    return ": this program and the Engine are too far apart";
  if (status == 409 && says("already in use")) return ": remove it, or use another name";
  return "";
}

absl::StatusCode CodeOf(unsigned status) {
  switch (status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 401:
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return absl::StatusCode::kFailedPrecondition;
    case 503:
      return absl::StatusCode::kUnavailable;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ReplyError(const std::string& what, unsigned status, std::string_view body) {
  const absl::StatusOr<boost::json::object> parsed = ParseObject(body);
  std::string message = parsed.ok() ? StringAt(*parsed, "message") : std::string();
  if (message.empty()) message = body.substr(0, 1024);
  while (message.ends_with('\n')) message.pop_back();
  return {CodeOf(status), fmt::format("{}: the Docker Engine answered {}: {}{}", what, status,
                                      message, Hint(status, message))};
}

Task<absl::StatusOr<EngineReply>> Perform(EnginePort port, EngineCall call) {
  Parser parser;
  const absl::StatusOr<ConnectionPtr> connection =
      co_await Exchange(std::move(port), std::move(call), false, parser);
  if (!connection.ok()) co_return connection.status();
  Keeper keeper;
  keeper.limit = kMaxReplyBytes;
  if (absl::Status s = co_await ReadBody(*connection, parser, keeper); !s.ok()) co_return s;
  if (keeper.too_long) {
    co_return absl::ResourceExhaustedError(fmt::format(
        "{}: an answer of more than {} MiB", (*connection)->what(), kMaxReplyBytes >> 20));
  }
  EngineReply reply;
  reply.status = parser.get().result_int();
  reply.body = std::move(keeper.text);
  const auto version = parser.get()["Api-Version"];
  reply.api_version.assign(version.data(), version.size());
  co_return reply;
}

Task<absl::Status> PerformStreaming(EnginePort port, EngineCall call,
                                    std::function<void(std::string_view bytes)> sink) {
  Parser parser;
  const absl::StatusOr<ConnectionPtr> connection =
      co_await Exchange(std::move(port), std::move(call), false, parser);
  if (!connection.ok()) co_return connection.status();
  co_return co_await ReadBody(*connection, parser, sink);
}

struct EngineBody::State {
  ConnectionPtr connection;
  Parser parser;
};

Task<absl::StatusOr<EngineBody>> PerformReading(EnginePort port, EngineCall call) {
  EngineBody body;
  body.state_ = std::make_shared<EngineBody::State>();
  absl::StatusOr<ConnectionPtr> connection =
      co_await Exchange(std::move(port), std::move(call), false, body.state_->parser);
  if (!connection.ok()) co_return connection.status();
  body.state_->connection = *std::move(connection);
  co_return body;
}

Task<absl::StatusOr<std::string>> EngineBody::ReadFrom(std::shared_ptr<State> state) {
  std::string piece(kBodyPieceBytes, '\0');
  size_t filled = 0;
  Parser& parser = state->parser;
  while (filled < piece.size() && !parser.is_done()) {
    parser.get().body().data = piece.data() + filled;
    parser.get().body().size = piece.size() - filled;
    auto [error, n] = co_await http::async_read_some(state->connection->socket(),
                                                     state->connection->buffer(), parser, kAsTuple);
    if (error == http::error::need_buffer) error = {};
    if (error) co_return state->connection->Explain(error);
    filled = piece.size() - parser.get().body().size;
  }
  piece.resize(filled);
  co_return piece;
}

Task<absl::StatusOr<ConnectionPtr>> Hijack(EnginePort port, EngineCall call) {
  Parser parser;
  absl::StatusOr<ConnectionPtr> connection =
      co_await Exchange(std::move(port), std::move(call), true, parser);
  if (connection.ok()) (*connection)->SetDeadline(SteadyTime::max());
  co_return connection;
}

}  // namespace fetchbench::docker
