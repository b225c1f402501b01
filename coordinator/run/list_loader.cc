#include "coordinator/run/list_loader.h"

#include <fmt/format.h>

#include "absl/container/flat_hash_set.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

constexpr size_t kInvalidBatch = 1024;
constexpr size_t kShownLineBytes = 100;

class Loader {
 public:
  Loader(const LoadRequest& request, LineReader& reader, UrlSpool& spool, LoadedList& loaded)
      : request_(request), reader_(reader), spool_(spool), loaded_(loaded) {}

  absl::Status Entry(uint64_t index, const ListLine& line) {
    loaded_.counts.urls = index + 1;
    if (line.kind == LineKind::kInvalid) {
      Invalid(index, line);
      return absl::OkStatus();
    }
    if (line.https && loaded_.all_hosts) NoteHost(line.host);
    return spool_.Add(index, line.url, line.host);
  }

  void FlushInvalid() {
    if (invalid_.records.empty()) return;
    request_.on_invalid(std::exchange(invalid_, {}));
  }

 private:
  void NoteHost(const std::string& host) {
    if (hosts_.contains(host)) return;
    if (hosts_.size() >= request_.max_hosts) {
      loaded_.all_hosts = false;
      hosts_ = {};
      return;
    }
    hosts_.insert(host);
    loaded_.hosts.push_back(host);
  }

  void Invalid(uint64_t index, const ListLine& line) {
    ++loaded_.counts.invalid;
    Record record;
    record.index = index;
    record.outcome = Outcome::kInvalidUrl;
    record.start_us = request_.wall_us();
    record.error = fmt::format("{}:{}: {}", request_.name, reader_.line_number(), line.reason);
    if (loaded_.counts.invalid <= kMaxComplaints) {
      request_.on_complaint(
          fmt::format("{}: '{}'", record.error, HidePassword(line.url.substr(0, kShownLineBytes))));
    }
    invalid_.Add(std::move(record), line.url);
    if (invalid_.records.size() >= kInvalidBatch) FlushInvalid();
  }

  const LoadRequest& request_;
  LineReader& reader_;
  UrlSpool& spool_;
  LoadedList& loaded_;
  CommitBatch invalid_;
  absl::flat_hash_set<std::string> hosts_;
};

}  // namespace

absl::Status LoadList(const LoadRequest& request, const std::atomic<bool>& stop, UrlSpool& spool,
                      LoadedList& loaded) {
  LineReader reader(request.fd, stop);
  Loader loader(request, reader, spool, loaded);
  const auto counts = ReadUrlList(
      reader, request.limit, request.hosts,
      [&loader](uint64_t index, const ListLine& line) { return loader.Entry(index, line); });
  loader.FlushInvalid();
  if (!counts.ok()) {
    return absl::Status(counts.status().code(),
                        fmt::format("reading the URL list {}: {}", request.name,
                                    std::string(counts.status().message())));
  }
  loaded.counts = *counts;
  if (loaded.counts.invalid > kMaxComplaints) {
    request.on_complaint(
        fmt::format("{}: {} lines are no URL, the first {} are named above; all are "
                    "recorded as invalid_url",
                    request.name, loaded.counts.invalid, kMaxComplaints));
  }
  return spool.Finish();
}

}  // namespace fetchbench::coordinator
