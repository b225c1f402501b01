#include "coordinator/web/origin_client.h"

#include <fmt/format.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <charconv>
#include <tuple>

#include "common/loopback.h"
#include "common/status_util.h"

namespace fetchbench::coordinator {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;
using tcp = net::ip::tcp;
using Protocol = net::generic::stream_protocol;
using Stream = beast::basic_stream<Protocol>;

constexpr std::string_view kUnix = "unix:";

constexpr std::chrono::seconds kShortLimit{10};
constexpr std::chrono::seconds kCertificateLimit{60};
constexpr std::chrono::milliseconds kAskAgainAfter{200};
constexpr size_t kHostsPerRequest = 4096;
constexpr uint64_t kMaxAnswerBytes = uint64_t{4} << 20;

// Whatever became of the request: there is no answer.
absl::Status NoAnswer(const boost::system::error_code& error, std::string_view what) {
  return absl::UnavailableError(FromErrorCode(error, what).message());
}

std::string Text(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_string()) return {};
  return std::string(value->get_string());
}

template <typename Number>
Number NumberOf(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(name);
  if (value == nullptr || !value->is_number()) return 0;
  boost::system::error_code error;
  const auto number = value->to_number<Number>(error);
  return error ? Number{0} : number;
}

OriginConfig ToConfig(const json::object& object) {
  OriginConfig config;
  config.version = Text(object, "version");
  config.profile = Text(object, "profile");
  config.profile_sha256 = Text(object, "profile_sha256");
  config.seed = NumberOf<uint64_t>(object, "seed");
  config.dns = Text(object, "dns");
  config.ca_sha256 = Text(object, "ca_sha256");
  const json::value* rules = object.if_contains("connect_to");
  if (rules != nullptr && rules->is_array()) {
    for (const json::value& rule : rules->get_array()) {
      if (rule.is_string()) config.connect_to.emplace_back(rule.get_string());
    }
  }
  return config;
}

// Where "host:port" or "unix:PATH" may be reached.
Task<absl::StatusOr<std::vector<Protocol::endpoint>>> Places(net::any_io_executor loop,
                                                             std::string address) {
  std::vector<Protocol::endpoint> places;
  if (address.starts_with(kUnix)) {
    places.emplace_back(net::local::stream_protocol::endpoint(address.substr(kUnix.size())));
    co_return places;
  }
  const std::string host = HostOf(address);
  const std::string port = address.substr(address.rfind(':') + 1);
  tcp::resolver resolver(loop);
  auto [error, found] = co_await resolver.async_resolve(host, port, kAsTuple);
  if (error) co_return FromErrorCode(error, "origin " + address);
  for (const auto& place : found) places.emplace_back(place.endpoint());
  co_return places;
}

// To the first that answers.
Task<boost::system::error_code> Connect(Stream& stream, std::vector<Protocol::endpoint> places) {
  boost::system::error_code error = net::error::host_not_found;
  for (const Protocol::endpoint& place : places) {
    boost::system::error_code ignored;
    stream.socket().close(ignored);
    std::tie(error) = co_await stream.async_connect(place, kAsTuple);
    if (!error) break;
  }
  co_return error;
}

}  // namespace

OriginClient::OriginClient(net::any_io_executor loop, std::string address)
    : loop_(std::move(loop)), address_(std::move(address)) {}

Task<absl::StatusOr<std::string>> OriginClient::Request(std::string method, std::string path,
                                                        std::string body,
                                                        std::chrono::seconds limit) {
  const std::string what = fmt::format("origin {}: {} {}", address_, method, path);
  auto places = co_await Places(loop_, address_);
  if (!places.ok()) co_return places.status();
  Stream stream(loop_);
  stream.expires_after(limit);
  const boost::system::error_code connect_error = co_await Connect(stream, *std::move(places));
  if (connect_error) co_return NoAnswer(connect_error, what);
  const auto verb = method == "POST" ? http::verb::post : http::verb::get;
  http::request<http::string_body> request(verb, path, 11, std::move(body));
  request.set(http::field::host, address_.starts_with(kUnix) ? "localhost" : address_);
  request.set(http::field::connection, "close");
  if (verb == http::verb::post) request.set(http::field::content_type, "text/plain");
  request.prepare_payload();
  auto [write_error, written] = co_await http::async_write(stream, request, kAsTuple);
  if (write_error) co_return NoAnswer(write_error, what);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxAnswerBytes);
  auto [read_error, read] = co_await http::async_read(stream, buffer, parser, kAsTuple);
  if (read_error) co_return NoAnswer(read_error, what);
  const unsigned status = parser.get().result_int();
  if (status / 100 != 2) {
    co_return absl::FailedPreconditionError(
        fmt::format("{}: answered {}: {}", what, status, parser.get().body().substr(0, 200)));
  }
  co_return std::move(parser.get().body());
}

Task<absl::StatusOr<std::string>> OriginClient::Insist(std::string method, std::string path,
                                                       std::string body,
                                                       std::chrono::seconds limit) {
  const auto deadline = std::chrono::steady_clock::now() + patience_.limit;
  net::steady_timer pause(loop_);
  while (true) {
    auto answer = co_await Request(method, path, body, limit);
    if (!absl::IsUnavailable(answer.status()) || patience_.stopped()) co_return answer;
    pause.expires_after(kAskAgainAfter);
    if (pause.expiry() > deadline) co_return answer;
    co_await pause.async_wait(kAsTuple);
  }
}

absl::StatusOr<json::object> OriginClient::ObjectOf(
    std::string_view path, const absl::StatusOr<std::string>& answer) const {
  if (!answer.ok()) return answer.status();
  boost::system::error_code error;
  json::value value = json::parse(json::string_view(answer->data(), answer->size()), error);
  if (error || !value.is_object()) {
    return absl::InternalError(
        fmt::format("origin {}: GET {} did not answer a JSON object", address_, path));
  }
  return std::move(value.get_object());
}

Task<absl::StatusOr<OriginConfig>> OriginClient::Config() {
  const std::string path = "/v1/config";
  const auto object = ObjectOf(path, co_await Insist("GET", path, {}, kShortLimit));
  if (!object.ok()) co_return object.status();
  OriginConfig config = ToConfig(*object);
  if (config.dns.empty() || config.connect_to.empty()) {
    co_return absl::InternalError(fmt::format(
        "origin {}: /v1/config names no DNS server or no ports: is it an origin?", address_));
  }
  co_return std::move(config);
}

Task<absl::StatusOr<json::object>> OriginClient::HostLog(std::string host) {
  const std::string path = "/v1/hosts/" + host;
  co_return ObjectOf(path, co_await Request("GET", path, {}, kShortLimit));
}

Task<absl::StatusOr<std::string>> OriginClient::CaPem() {
  co_return co_await Insist("GET", "/v1/ca.pem", {}, kShortLimit);
}

Task<absl::Status> OriginClient::IssueCertificates(const std::vector<std::string>& hosts,
                                                   std::function<bool()> stopped) {
  for (size_t begin = 0; begin < hosts.size() && !stopped(); begin += kHostsPerRequest) {
    std::string body;
    const size_t end = std::min(begin + kHostsPerRequest, hosts.size());
    for (size_t i = begin; i < end; ++i) body.append(hosts[i]).push_back('\n');
    const auto answer =
        co_await Insist("POST", "/v1/certificates", std::move(body), kCertificateLimit);
    if (!answer.ok()) co_return answer.status();
  }
  co_return absl::OkStatus();
}

Task<absl::Status> OriginClient::BeginRun(const std::string& run_id) {
  const auto answer = co_await Insist("POST", "/v1/runs/" + run_id, {}, kShortLimit);
  co_return answer.status();
}

Task<absl::StatusOr<OriginSummary>> OriginClient::RunStatistics(const std::string& run_id) {
  const std::string path = "/v1/runs/" + run_id;
  const auto object = ObjectOf(path, co_await Request("GET", path, {}, kShortLimit));
  if (!object.ok()) co_return object.status();
  co_return ParseRunStatistics(*object);
}

absl::StatusOr<OriginSummary> ParseRunStatistics(const json::object& object) {
  OriginSummary s;
  if (!object.contains("requests")) {
    return absl::InvalidArgumentError("the origin's statistics hold no request count");
  }
  s.dns_queries = NumberOf<uint64_t>(object, "dns_queries");
  s.connections = NumberOf<uint64_t>(object, "connections");
  s.tls_handshakes = NumberOf<uint64_t>(object, "tls_handshakes");
  s.requests = NumberOf<uint64_t>(object, "requests");
  s.most_in_flight = NumberOf<uint64_t>(object, "most_in_flight");
  s.most_requests_of_a_host = NumberOf<uint64_t>(object, "most_requests_of_a_host");
  s.hosts = NumberOf<uint64_t>(object, "hosts");
  s.cpu_us = NumberOf<int64_t>(object, "cpu_us");
  if (const json::value* late = object.if_contains("lateness_us"); late && late->is_object()) {
    s.lateness_p50_us = NumberOf<int64_t>(late->get_object(), "p50");
    s.lateness_p99_us = NumberOf<int64_t>(late->get_object(), "p99");
    s.lateness_max_us = NumberOf<int64_t>(late->get_object(), "max");
  }
  if (const json::value* by = object.if_contains("responses"); by && by->is_object()) {
    for (const auto& [key, value] : by->get_object()) {
      int status = 0;
      std::from_chars(key.data(), key.data() + key.size(), status);
      if (status > 0) s.responses[status] = NumberOf<uint64_t>(by->get_object(), key);
    }
  }
  return s;
}

}  // namespace fetchbench::coordinator
