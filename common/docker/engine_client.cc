#include "common/docker/engine_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <deque>
#include <optional>
#include <utility>

#include "common/docker/line_splitter.h"

namespace fetchbench::docker {
namespace {

namespace json = boost::json;
using boost::beast::http::verb;

constexpr size_t kMaxProgressLineBytes = 16 << 10;
// Of a failed build's output, shown with its error.
constexpr size_t kEvidenceLines = 20;

std::string Escape(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      result += c;
    } else {
      result += fmt::format("%{:02X}", byte);
    }
  }
  return result;
}

// The part of an image reference in a path: its slashes and colon stand as they are.
std::string ReferencePath(std::string_view reference) {
  std::string result = Escape(reference);
  for (const auto& [code, plain] : {std::pair("%2F", "/"), {"%3A", ":"}, {"%40", "@"}}) {
    for (size_t at = result.find(code); at != std::string::npos; at = result.find(code, at)) {
      result.replace(at, 3, plain);
    }
  }
  return result;
}

std::string LabelFilter(const std::vector<std::string>& labels) {
  json::array array;
  for (const std::string& label : labels) array.emplace_back(label);
  return Escape(Serialize(json::object{{"label", std::move(array)}}));
}

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

// What a build, load or import tells in its lines.
class LineCollector {
 public:
  explicit LineCollector(EngineClient::TextSink progress) : progress_(std::move(progress)) {}

  void OnLine(std::string_view line) {
    const BuildLine parsed = ParseBuildLine(line);
    if (!parsed.image_id.empty()) image_id_ = parsed.image_id;
    if (!parsed.error.empty()) error_ = parsed.error;
    if (parsed.text.empty()) return;
    evidence_.push_back(parsed.text);
    if (evidence_.size() > kEvidenceLines) evidence_.pop_front();
    if (progress_) progress_(parsed.text);
  }

  // After the end of the stream.
  absl::Status Error(const std::string& what) const {
    if (error_.empty()) return absl::OkStatus();
    std::string text = fmt::format("{}: {}", what, error_);
    if (!evidence_.empty()) text += "; its last output:";
    for (const std::string& line : evidence_) text += "\n  " + line;
    return absl::FailedPreconditionError(text);
  }
  const std::string& image_id() const { return image_id_; }

 private:
  EngineClient::TextSink progress_;
  std::deque<std::string> evidence_;
  std::string error_;
  std::string image_id_;
};

Task<absl::StatusOr<std::string>> StreamLines(EnginePort port, EngineCall call,
                                              EngineClient::TextSink progress) {
  const std::string what = call.what;
  LineCollector collector(std::move(progress));
  LineSplitter lines(kMaxProgressLineBytes);
  const std::function<void(std::string_view)> on_line = [&collector](std::string_view line) {
    collector.OnLine(line);
  };
  std::function<void(std::string_view)> on_bytes = [&lines, &on_line](std::string_view bytes) {
    lines.Feed(bytes, on_line);
  };
  absl::Status read = co_await PerformStreaming(std::move(port), std::move(call), on_bytes);
  lines.End(on_line);
  if (absl::Status s = collector.Error(what); !s.ok()) co_return s;
  if (!read.ok()) co_return read;
  co_return collector.image_id();
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

Task<absl::StatusOr<std::string>> EngineClient::BuildImage(BuildRequest request,
                                                           TextSink progress) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = fmt::format("building {}", request.name);
  call.method = verb::post;
  call.deadline = deadlines_.build;
  call.target =
      fmt::format("{}/build?version=1&rm=1&forcerm=1&dockerfile={}&buildargs={}&labels={}", *prefix,
                  Escape(request.dockerfile), Escape(Serialize(ToJson(request.build_args))),
                  Escape(Serialize(ToJson(request.labels))));
  if (!request.tag.empty()) call.target += "&t=" + Escape(request.tag);
  if (!request.network_mode.empty()) call.target += "&networkmode=" + Escape(request.network_mode);
  call.tar = std::move(request.context);
  absl::StatusOr<std::string> id =
      co_await StreamLines(port_, std::move(call), std::move(progress));
  if (id.ok() && id->empty()) {
    co_return absl::DataLossError(fmt::format(
        "building {}: the Docker Engine's answer ended without an image", request.name));
  }
  co_return id;
}

Task<absl::Status> EngineClient::LoadImages(BodySource archive) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = "loading images";
  call.method = verb::post;
  call.deadline = deadlines_.build;
  call.target = *prefix + "/images/load?quiet=1";
  call.tar = std::move(archive);
  const absl::StatusOr<std::string> done = co_await StreamLines(port_, std::move(call), nullptr);
  co_return done.status();
}

Task<absl::StatusOr<std::string>> EngineClient::ImportImage(BodySource root, std::string repository,
                                                            std::string tag,
                                                            std::vector<std::string> changes) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = fmt::format("importing {}:{}", repository, tag);
  call.method = verb::post;
  call.deadline = deadlines_.build;
  call.target = fmt::format("{}/images/create?fromSrc=-&repo={}&tag={}", *prefix,
                            Escape(repository), Escape(tag));
  for (const std::string& change : changes) call.target += "&changes=" + Escape(change);
  call.tar = std::move(root);
  co_return co_await StreamLines(port_, std::move(call), nullptr);
}

Task<absl::StatusOr<ImageInfo>> EngineClient::InspectImage(std::string reference) {
  const absl::StatusOr<EngineReply> reply =
      co_await Ask(fmt::format("looking for image {}", reference),
                   fmt::format("/images/{}/json", ReferencePath(reference)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseImage(reply->body);
}

Task<absl::Status> EngineClient::TagImage(std::string reference, std::string repository,
                                          std::string tag) {
  co_return co_await Change(fmt::format("tagging image {} as {}:{}", reference, repository, tag),
                            verb::post,
                            fmt::format("/images/{}/tag?repo={}&tag={}", ReferencePath(reference),
                                        Escape(repository), Escape(tag)));
}

Task<absl::Status> EngineClient::RemoveImage(std::string reference) {
  co_return co_await Change(fmt::format("removing image {}", reference), verb::delete_,
                            fmt::format("/images/{}?noprune=0", ReferencePath(reference)));
}

Task<absl::StatusOr<std::string>> EngineClient::CreateContainer(std::string name,
                                                                json::object config) {
  EngineCall call;
  call.what = fmt::format("creating container {}", name);
  call.method = verb::post;
  call.target = fmt::format("/containers/create?name={}", Escape(name));
  call.body = Serialize(std::move(config));
  call.deadline = deadlines_.change;
  const absl::StatusOr<EngineReply> reply = co_await Call(std::move(call));
  if (!reply.ok()) co_return reply.status();
  const absl::StatusOr<json::object> object = ParseObject(reply->body);
  if (!object.ok()) co_return object.status();
  co_return StringAt(*object, "Id");
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
  const absl::StatusOr<EngineReply> reply = co_await Ask(
      "listing containers", fmt::format("/containers/json?all=1&filters={}", LabelFilter(labels)));
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
  EngineCall call;
  call.what = fmt::format("creating network {}", name);
  call.method = verb::post;
  call.target = "/networks/create";
  call.body = Serialize(std::move(config));
  call.deadline = deadlines_.change;
  const absl::StatusOr<EngineReply> reply = co_await Call(std::move(call));
  if (!reply.ok()) co_return reply.status();
  const absl::StatusOr<json::object> object = ParseObject(reply->body);
  if (!object.ok()) co_return object.status();
  co_return StringAt(*object, "Id");
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
  const absl::StatusOr<EngineReply> reply =
      co_await Ask("listing networks", fmt::format("/networks?filters={}", LabelFilter(labels)));
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
