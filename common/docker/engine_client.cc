#include "common/docker/engine_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <utility>

#include "common/docker/engine_path.h"

namespace fetchbench::docker {
namespace {

namespace json = boost::json;
using boost::beast::http::verb;

// How often a container is tried to be removed, and the time between.
constexpr int kRemovals = 5;
constexpr std::chrono::milliseconds kRemovalPause{300};

// "1.41" -> 1041; 0: no version.
int VersionNumber(std::string_view text) {
  int major = 0;
  int minor = 0;
  const char* end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return 0;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return 0;
  return major * 1'000 + minor;
}

}  // namespace

EngineClient::EngineClient(net::any_io_executor loop, std::string socket_path,
                           EngineDeadlines deadlines)
    : port_{std::move(loop), std::move(socket_path)}, deadlines_(deadlines) {}

void EngineClient::CancelAll() {
  const ConnectionSet open = *port_.open;
  for (EngineConnection* connection : open) connection->Cancel();
}

Task<absl::StatusOr<std::string>> EngineClient::Prefix() {
  if (!learnt_->prefix.empty()) co_return learnt_->prefix;
  EngineCall ping;
  ping.what = "asking the Docker Engine for its version";
  ping.target = "/_ping";
  ping.deadline = deadlines_.ask;
  absl::StatusOr<EngineReply> reply = co_await Perform(port_, std::move(ping));
  if (!reply.ok()) co_return reply.status();
  const int theirs = VersionNumber(reply->api_version);
  const bool older = theirs != 0 && theirs < VersionNumber(kNewestApi);
  learnt_->prefix = fmt::format("/v{}", older ? reply->api_version : kNewestApi);
  co_return learnt_->prefix;
}

Task<absl::StatusOr<EngineReply>> EngineClient::Call(EngineCall call) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) {
    co_return absl::Status(
        prefix.status().code(),
        fmt::format("{}: {}", call.what, std::string(prefix.status().message())));
  }
  call.target = *prefix + call.target;
  co_return co_await Perform(port_, std::move(call));
}

Task<absl::StatusOr<EngineReply>> EngineClient::Ask(std::string what, std::string target) {
  EngineCall call;
  call.what = std::move(what);
  call.target = std::move(target);
  call.deadline = deadlines_.ask;
  co_return co_await Call(std::move(call));
}

Task<absl::Status> EngineClient::Change(std::string what, verb method, std::string target) {
  EngineCall call;
  call.what = std::move(what);
  call.method = method;
  call.target = std::move(target);
  call.deadline = deadlines_.change;
  const absl::StatusOr<EngineReply> reply = co_await Call(std::move(call));
  co_return reply.status();
}

Task<absl::StatusOr<EngineVersion>> EngineClient::Version() {
  const absl::StatusOr<EngineReply> reply = co_await Ask("asking for the version", "/version");
  if (!reply.ok()) co_return reply.status();
  co_return ParseVersion(reply->body);
}

Task<absl::StatusOr<EngineInfo>> EngineClient::Info() {
  const absl::StatusOr<EngineReply> reply = co_await Ask("asking for the Engine's facts", "/info");
  if (!reply.ok()) co_return reply.status();
  co_return ParseInfo(reply->body);
}

Task<absl::StatusOr<std::string>> EngineClient::Create(std::string what, std::string target,
                                                       json::object config) {
  EngineCall call;
  call.what = std::move(what);
  call.method = verb::post;
  call.target = std::move(target);
  call.body = Serialize(std::move(config));
  call.deadline = deadlines_.change;
  const absl::StatusOr<EngineReply> reply = co_await Call(std::move(call));
  if (!reply.ok()) co_return reply.status();
  const absl::StatusOr<json::object> object = ParseObject(reply->body);
  if (!object.ok()) co_return object.status();
  co_return StringAt(*object, "Id");
}

Task<absl::StatusOr<std::string>> EngineClient::CreateContainer(std::string name,
                                                                json::object config) {
  co_return co_await Create(fmt::format("creating container {}", name),
                            fmt::format("/containers/create?name={}", Escape(name)),
                            std::move(config));
}

Task<absl::Status> EngineClient::StartContainer(std::string id) {
  co_return co_await Change(fmt::format("starting container {}", id), verb::post,
                            fmt::format("/containers/{}/start", Escape(id)));
}

Task<absl::StatusOr<AttachStream>> EngineClient::AttachContainer(std::string id, bool with_stdin) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = fmt::format("attaching to container {}", id);
  call.method = verb::post;
  call.target = fmt::format("{}/containers/{}/attach?stream=1&stdout=1&stderr=1&stdin={}", *prefix,
                            Escape(id), with_stdin ? 1 : 0);
  call.deadline = deadlines_.change;
  absl::StatusOr<std::shared_ptr<EngineConnection>> connection =
      co_await Hijack(port_, std::move(call));
  if (!connection.ok()) co_return connection.status();
  co_return AttachStream(*std::move(connection));
}

Task<absl::StatusOr<int>> EngineClient::WaitContainer(std::string id,
                                                      std::chrono::milliseconds patience) {
  EngineCall call;
  call.what = fmt::format("waiting for container {}", id);
  call.method = verb::post;
  call.target = fmt::format("/containers/{}/wait?condition=not-running", Escape(id));
  call.deadline = patience;
  const absl::StatusOr<EngineReply> reply = co_await Call(std::move(call));
  if (!reply.ok()) co_return reply.status();
  const absl::StatusOr<json::object> object = ParseObject(reply->body);
  if (!object.ok()) co_return object.status();
  co_return static_cast<int>(NumberAt(*object, "StatusCode"));
}

Task<absl::Status> EngineClient::KillContainer(std::string id, std::string signal) {
  co_return co_await Change(
      fmt::format("sending {} to container {}", signal, id), verb::post,
      fmt::format("/containers/{}/kill?signal={}", Escape(id), Escape(signal)));
}

Task<absl::StatusOr<ContainerInfo>> EngineClient::InspectContainer(std::string id) {
  const absl::StatusOr<EngineReply> reply = co_await Ask(
      fmt::format("looking at container {}", id), fmt::format("/containers/{}/json", Escape(id)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseContainer(reply->body);
}

Task<absl::Status> EngineClient::RemoveContainer(std::string id) {
  net::steady_timer pause(port_.loop);
  absl::Status removed;
  for (int i = 0; i < kRemovals; ++i) {
    removed = co_await RemoveOnce(id);
    // 500: the Engine itself was writing among the files that it was to remove.
    if (!absl::IsInternal(removed) || i + 1 == kRemovals) break;
    pause.expires_after(kRemovalPause);
    co_await pause.async_wait(kAsTuple);
  }
  co_return removed;
}

Task<absl::Status> EngineClient::RemoveOnce(std::string id) {
  absl::Status removed = co_await Change(fmt::format("removing container {}", id), verb::delete_,
                                         fmt::format("/containers/{}?force=1&v=1", Escape(id)));
  const bool being_removed =
      absl::IsFailedPrecondition(removed) &&
      removed.message().find("already in progress") != std::string_view::npos;
  if (absl::IsNotFound(removed) || being_removed) co_return absl::OkStatus();
  co_return removed;
}

Task<absl::StatusOr<std::vector<ContainerSummary>>> EngineClient::ListContainers(
    std::vector<std::string> labels) {
  const absl::StatusOr<EngineReply> reply =
      co_await Ask("listing containers",
                   fmt::format("/containers/json?all=1&filters={}", Filter("label", labels)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseContainers(reply->body);
}

Task<absl::StatusOr<ContainerStats>> EngineClient::Stats(std::string id) {
  const absl::StatusOr<EngineReply> reply =
      co_await Ask(fmt::format("reading what container {} has used", id),
                   fmt::format("/containers/{}/stats?stream=0&one-shot=1", Escape(id)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseStats(reply->body);
}

Task<absl::StatusOr<std::string>> EngineClient::CreateNetwork(std::string name,
                                                              json::object config) {
  config["Name"] = name;
  config["CheckDuplicate"] = true;
  co_return co_await Create(fmt::format("creating network {}", name), "/networks/create",
                            std::move(config));
}

Task<absl::StatusOr<NetworkInfo>> EngineClient::InspectNetwork(std::string name) {
  const absl::StatusOr<EngineReply> reply = co_await Ask(fmt::format("looking at network {}", name),
                                                         fmt::format("/networks/{}", Escape(name)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseNetwork(reply->body);
}

Task<absl::Status> EngineClient::RemoveNetwork(std::string name) {
  absl::Status removed = co_await Change(fmt::format("removing network {}", name), verb::delete_,
                                         fmt::format("/networks/{}", Escape(name)));
  if (absl::IsNotFound(removed)) co_return absl::OkStatus();
  co_return removed;
}

Task<absl::StatusOr<std::vector<NetworkInfo>>> EngineClient::ListNetworks(
    std::vector<std::string> labels) {
  const absl::StatusOr<EngineReply> reply = co_await Ask(
      "listing networks", fmt::format("/networks?filters={}", Filter("label", labels)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseNetworks(reply->body);
}

Task<int> EngineClient::EnginePid() {
  const SteadyTime deadline = std::chrono::steady_clock::now() + deadlines_.ask;
  absl::StatusOr<std::shared_ptr<EngineConnection>> connection =
      co_await EngineConnection::Open(port_, "asking who is behind the socket", deadline);
  if (!connection.ok()) co_return -1;
  ucred peer{};
  socklen_t size = sizeof peer;
  const int fd = (*connection)->socket().native_handle();
  const bool known = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  (*connection)->Close();
  co_return known ? static_cast<int>(peer.pid) : -1;
}

}  // namespace fetchbench::docker
