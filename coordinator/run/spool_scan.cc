#include "coordinator/run/spool_scan.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "coordinator/input/url_normalize.h"

namespace fetchbench::coordinator {
namespace {

class Scanner {
 public:
  Scanner(const UrlSpool& spool, const IndexSet& recorded, size_t max_hosts)
      : spool_(spool), recorded_(recorded), seen_(recorded.size()), max_hosts_(max_hosts) {
    scan_.remaining.resize(kPartitions);
  }

  void Visit(uint32_t partition, uint64_t index, std::string_view url) {
    ++scan_.urls;
    if (!seen_.Add(index) && scan_.status.ok()) {
      scan_.status =
          spool_.Damaged(fmt::format("index {} is there twice, or is none of the list's", index));
    }
    if (recorded_.Contains(index)) return;
    ++scan_.open;
    ++scan_.remaining[partition];
    if (!scan_.all_hosts) return;
    ParseListLine(url, line_);
    if (line_.https) NoteHost(line_.host);
  }

  SpoolScan Take() && { return std::move(scan_); }

 private:
  void NoteHost(const std::string& host) {
    if (host.empty() || hosts_.contains(host)) return;
    if (hosts_.size() >= max_hosts_) {
      scan_.all_hosts = false;
      return;
    }
    hosts_.insert(host);
    scan_.hosts.push_back(host);
  }

  const UrlSpool& spool_;
  const IndexSet& recorded_;
  IndexSet seen_;
  size_t max_hosts_;
  ListLine line_;
  absl::flat_hash_set<std::string> hosts_;
  SpoolScan scan_;
};

}  // namespace

SpoolScan ScanSpool(const UrlSpool& spool, const IndexSet& recorded, size_t max_hosts) {
  Scanner scanner(spool, recorded, max_hosts);
  const absl::Status read =
      spool.VisitAll([&scanner](uint32_t partition, uint64_t index, std::string_view url) {
        scanner.Visit(partition, index, url);
      });
  SpoolScan scan = std::move(scanner).Take();
  if (!read.ok()) scan.status = read;
  return scan;
}

}  // namespace fetchbench::coordinator
