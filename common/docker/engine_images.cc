// The part of EngineClient that is about images.
#include <fmt/format.h>

#include <deque>
#include <utility>

#include "common/docker/engine_client.h"
#include "common/docker/engine_path.h"
#include "common/docker/line_splitter.h"

namespace fetchbench::docker {
namespace {

using boost::beast::http::verb;

constexpr size_t kMaxProgressLineBytes = 16 << 10;
// Of a failed build's output, shown with its error.
constexpr size_t kEvidenceLines = 20;
// That one archive can be said to have held.
constexpr size_t kMaxLoadedImages = 1'000;

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

// "Loaded image: REFERENCE" or "Loaded image ID: ID"; else empty.
std::string LoadedImage(std::string_view line) {
  for (const std::string_view words : {"Loaded image: ", "Loaded image ID: "}) {
    if (line.starts_with(words)) return std::string(line.substr(words.size()));
  }
  return {};
}

std::string LimitsQuery(const BuildLimits& limits) {
  constexpr uint64_t kPeriodUs = 100'000;
  constexpr uint64_t kPermille = 1'000;
  std::string query;
  if (limits.memory_bytes != 0) {
    query += fmt::format("&memory={0}&memswap={0}", limits.memory_bytes);
  }
  if (limits.cpu_permille != 0) {
    query += fmt::format("&cpuperiod={}&cpuquota={}", kPeriodUs,
                         limits.cpu_permille * kPeriodUs / kPermille);
  }
  if (!limits.cpuset.empty()) query += "&cpusetcpus=" + Escape(limits.cpuset);
  return query;
}

}  // namespace

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
  call.target += LimitsQuery(request.limits);
  call.tar = std::move(request.context);
  absl::StatusOr<std::string> id =
      co_await StreamLines(port_, std::move(call), std::move(progress));
  if (id.ok() && id->empty()) {
    co_return absl::DataLossError(fmt::format(
        "building {}: the Docker Engine's answer ended without an image", request.name));
  }
  co_return id;
}

Task<absl::StatusOr<std::vector<std::string>>> EngineClient::LoadImages(BodySource archive) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = "loading images";
  call.method = verb::post;
  call.deadline = deadlines_.build;
  call.target = *prefix + "/images/load?quiet=1";
  call.tar = std::move(archive);
  std::vector<std::string> loaded;
  TextSink on_line = [&loaded](std::string_view line) {
    const std::string name = LoadedImage(line);
    if (!name.empty() && loaded.size() < kMaxLoadedImages) loaded.push_back(name);
  };
  const absl::StatusOr<std::string> done =
      co_await StreamLines(port_, std::move(call), std::move(on_line));
  if (!done.ok()) co_return done.status();
  co_return loaded;
}

Task<absl::StatusOr<EngineBody>> EngineClient::ExportImage(std::string reference) {
  absl::StatusOr<std::string> prefix = co_await Prefix();
  if (!prefix.ok()) co_return prefix.status();
  EngineCall call;
  call.what = fmt::format("exporting image {}", reference);
  call.deadline = deadlines_.build;
  call.target = fmt::format("{}/images/{}/get", *prefix, ReferencePath(reference));
  co_return co_await PerformReading(port_, std::move(call));
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

Task<absl::StatusOr<std::vector<ImageSummary>>> EngineClient::ListImages(std::string repository) {
  const std::vector<std::string> wanted(1, repository);
  const absl::StatusOr<EngineReply> reply =
      co_await Ask(fmt::format("listing images of {}", repository),
                   fmt::format("/images/json?filters={}", Filter("reference", wanted)));
  if (!reply.ok()) co_return reply.status();
  co_return ParseImages(reply->body);
}

}  // namespace fetchbench::docker
