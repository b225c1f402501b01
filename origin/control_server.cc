#include "origin/control_server.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/basic_stream.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>

#include "common/spawn.h"
#include "origin/listeners.h"
#include "origin/options.h"
#include "origin/planner.h"

namespace fetchbench::origin {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;

constexpr std::string_view kUnix = "unix:";
// So many certificates are issued before other work gets its turn: about a millisecond.
constexpr size_t kIssueTurn = 16;

constexpr std::string_view kRuns = "/v1/runs/";
constexpr std::string_view kHosts = "/v1/hosts/";

std::string ErrorJson(std::string_view what) {
  return json::serialize(json::object{{"error", json::string_view(what.data(), what.size())}});
}

std::string_view NextLine(std::string_view& text) {
  const size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
  while (!line.empty() && line.front() == ' ') line.remove_prefix(1);
  return line;
}

}  // namespace

absl::Status ControlServer::ListenOnSocket(const std::string& path) {
  error_code ec;
  net::local::stream_protocol::endpoint endpoint;
  constexpr size_t kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (path.empty() || path.size() > kLongest) {
    return absl::InvalidArgumentError(
        fmt::format("--control: a socket's path of {} bytes: 1 to {}", path.size(), kLongest));
  }
  endpoint.path(path);
  acceptor_.open(Protocol(endpoint.protocol()), ec);
  if (!ec) acceptor_.bind(endpoint, ec);
  if (!ec) acceptor_.listen(net::socket_base::max_listen_connections, ec);
  // In a container we are another user than who connects.
  if (!ec && chmod(path.c_str(), 0666) != 0) ec.assign(errno, boost::system::system_category());
  if (ec) return absl::UnavailableError(fmt::format("listening on {}: {}", path, ec.message()));
  url_ = fmt::format("{}{}", kUnix, path);
  return absl::OkStatus();
}

absl::Status ControlServer::Listen(const std::string& address) {
  if (address.starts_with(kUnix)) return ListenOnSocket(address.substr(kUnix.size()));
  const auto place = ParseHostPort(address);
  if (!place.ok()) {
    return absl::InvalidArgumentError(
        fmt::format("--control: {}", std::string(place.status().message())));
  }
  auto acceptor = ListenOn(io_, place->address, place->port);
  if (!acceptor.ok()) return acceptor.status();
  error_code ec;
  const auto endpoint = acceptor->local_endpoint(ec);
  if (!ec) acceptor_ = *std::move(acceptor);
  if (ec) return absl::UnavailableError(fmt::format("listening on {}: {}", address, ec.message()));
  url_ = fmt::format("http://{}:{}", endpoint.address().to_string(), endpoint.port());
  return absl::OkStatus();
}

void ControlServer::Start(Endpoints endpoints) {
  endpoints_ = std::move(endpoints);
  Spawn(io_.get_executor(), "the control endpoint", Accept());
}

Task<> ControlServer::Accept() {
  for (;;) {
    auto [ec, socket] = co_await acceptor_.async_accept(kAsTuple);
    if (!acceptor_.is_open()) co_return;
    if (ec) {
      constexpr std::chrono::milliseconds kBackoff{50};
      net::steady_timer pause(io_, kBackoff);
      co_await pause.async_wait(kAsTuple);
      continue;
    }
    if (connections_ >= kMaxConnections) continue;  // closes the socket
    Spawn(io_.get_executor(), "a control connection", Serve(std::move(socket)));
  }
}

Task<> ControlServer::Serve(Protocol::socket socket) {
  ++connections_;
  beast::basic_stream<Protocol> stream(std::move(socket));
  beast::flat_buffer buffer;
  for (bool open = true; open;) {
    http::request_parser<http::string_body> parser;
    parser.body_limit(kMaxBody);
    stream.expires_after(kIdle);
    const auto [read_error, n] = co_await http::async_read(stream, buffer, parser, kAsTuple);
    if (read_error) break;
    stream.expires_never();
    auto& request = parser.get();
    open = request.keep_alive();
    Call call{std::string(request.method_string().data(), request.method_string().size()),
              std::string(request.target().data(), request.target().size()),
              std::move(request.body())};
    Reply reply = co_await Handle(std::move(call));
    http::response<http::string_body> response(static_cast<http::status>(reply.status),
                                               request.version());
    response.set(http::field::content_type, reply.type);
    response.keep_alive(open);
    response.body() = std::move(reply.body);
    response.prepare_payload();
    stream.expires_after(kIdle);
    const auto [write_error, m] = co_await http::async_write(stream, response, kAsTuple);
    if (write_error) break;
  }
  --connections_;
}

Task<ControlServer::Reply> ControlServer::Handle(Call call) {
  const std::string_view path = call.path;
  if (call.method == "GET") co_return HandleGet(path);
  if (call.method == "POST" && path == "/v1/certificates") {
    Reply reply = co_await IssueCertificates(std::move(call.body));
    co_return reply;
  }
  if (call.method == "POST" && path.starts_with(kRuns) && path.size() > kRuns.size()) {
    stats_.Start(std::string(path.substr(kRuns.size())));
    log_.Clear();
    co_return Reply{.body = "{}"};
  }
  co_return Reply{.status = 404, .body = ErrorJson("no such thing here")};
}

ControlServer::Reply ControlServer::HandleGet(std::string_view path) {
  if (path == "/v1/config") return {.body = ConfigJson()};
  if (path == "/v1/ca.pem") {
    return {.type = "application/x-pem-file", .body = certificates_.ca_pem()};
  }
  if (path.starts_with(kRuns)) {
    const std::string_view run = path.substr(kRuns.size());
    if (!run.empty() && run == stats_.run()) return {.body = stats_.ToJson()};
    return {.status = 404, .body = ErrorJson(fmt::format("run '{}' is not the present one", run))};
  }
  if (path.starts_with(kHosts)) {
    return {.body = log_.ToJson(NormalHost(path.substr(kHosts.size())))};
  }
  return {.status = 404, .body = ErrorJson("no such thing here")};
}

// The names that fetching https://host/ asks a certificate for.
uint64_t ControlServer::IssueFor(std::string_view host) {
  const HostPlan plan = world_.Look(host).plan;
  const auto& kinds = plan.dns.addresses;
  bool serves = false;
  for (size_t i = 0; i < kinds.size; ++i) serves |= kinds.kinds[i] == AddressKind::kServing;
  if (plan.dns.kind != DnsKind::kAnswer || !serves) return 0;
  certificates_.Find(host, plan.tls.certificate);
  if (plan.http.redirect != RedirectKind::kToWww || host.starts_with("www.")) return 1;
  certificates_.Find(fmt::format("www.{}", host), plan.tls.certificate);
  return 2;
}

Task<ControlServer::Reply> ControlServer::IssueCertificates(std::string lines) {
  uint64_t issued = 0;
  size_t turn = 0;
  std::string_view rest = lines;
  while (!rest.empty() && issued < CertificateStore::kCapacity) {
    const std::string host = NormalHost(NextLine(rest));
    if (host.empty()) continue;
    issued += IssueFor(host);
    if (++turn % kIssueTurn == 0) co_await net::post(io_, net::use_awaitable);
  }
  co_return Reply{.body = json::serialize(json::object{{"issued", issued}})};
}

std::string ControlServer::ConfigJson() const {
  const json::array connect_to = {fmt::format(":80::{}", endpoints_.http_port),
                                  fmt::format(":443::{}", endpoints_.https_port)};
  const json::object config = {{"version", FETCHBENCH_VERSION},
                               {"profile", world_.profile().name},
                               {"profile_sha256", world_.profile().sha256},
                               {"seed", world_.seed()},
                               {"dns", endpoints_.dns},
                               {"http_port", endpoints_.http_port},
                               {"https_port", endpoints_.https_port},
                               {"connect_to", connect_to},
                               {"addresses", world_.addresses().serving.size()},
                               {"ca_sha256", certificates_.ca_sha256()}};
  return json::serialize(config);
}

}  // namespace fetchbench::origin
