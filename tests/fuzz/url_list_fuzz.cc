// A whole URL list: bytes -> lines -> URLs. What must hold: every line that is not blank gets one
// index, a URL that is handed on can be written as one line and is understood the same way again.

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "coordinator/input/import_urls.h"
#include "coordinator/input/url_list.h"
#include "coordinator/input/url_spool.h"

namespace fetchbench::coordinator {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

void CheckUrl(const ListLine& line) {
  Check(!line.host.empty());
  Check(line.url.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos);
  Check(line.url.starts_with(line.https ? "https://" : "http://"));
  Check(PartitionOf(line.host) < kPartitions);
  // The scheme that was added may make the longest URL too long to be read again.
  if (line.url.size() > kMaxUrlBytes) return;
  ListLine again;
  ParseListLine(line.url, again);
  Check(again.kind == LineKind::kUrl && again.url == line.url && again.host == line.host);
}

void CheckList(std::string_view bytes) {
  const int fd = memfd_create("list", MFD_CLOEXEC);
  Check(write(fd, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
  lseek(fd, 0, SEEK_SET);
  const std::atomic<bool> stop{false};
  LineReader reader(fd, stop);
  uint64_t next = 0;
  const auto counts = ReadUrlList(reader, ~uint64_t{0}, Hosts::kNames,
                                  [&next](uint64_t index, const ListLine& line) {
                                    Check(index == next++);
                                    if (line.kind == LineKind::kUrl) CheckUrl(line);
                                    if (line.kind == LineKind::kInvalid)
                                      Check(!line.reason.empty());
                                    return absl::OkStatus();
                                  });
  Check(counts.ok() && counts->urls == next && counts->invalid <= counts->urls);
  close(fd);
}

}  // namespace
}  // namespace fetchbench::coordinator

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fetchbench::coordinator;  // NOLINT(google-build-using-namespace): one function
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckList(bytes);
  if (const auto format = GuessListFormat(bytes)) ImportLine(*format, bytes);
  return 0;
}
