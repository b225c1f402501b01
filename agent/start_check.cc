#include "agent/start_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "agent/native_command.h"
#include "agent/one_line.h"

namespace fetchbench::agent {
namespace {

constexpr size_t kShownVersionBytes = 100;
constexpr size_t kMaxAgentNameBytes = 4 << 10;
// One for each architecture; of a name and an id each.
constexpr int kMaxImageIds = 32;
constexpr size_t kMaxImageIdBytes = 256;

// It becomes a label, and stands in logs and file names.
bool IsRunId(const std::string& id) {
  return !id.empty() && id.size() <= kMaxRunIdBytes &&
         std::none_of(id.begin(), id.end(), [](char c) {
           const auto byte = static_cast<unsigned char>(c);
           return byte < 0x20 || byte == 0x7f;
         });
}

absl::Status CheckImageIds(const v1::Start& start) {
  if (start.image_ids_size() > kMaxImageIds) {
    return absl::InvalidArgumentError(
        fmt::format("image_ids has {} entries: at most {}", start.image_ids_size(), kMaxImageIds));
  }
  for (const auto& [architecture, id] : start.image_ids()) {
    if (std::max(architecture.size(), id.size()) > kMaxImageIdBytes) {
      return absl::InvalidArgumentError(
          fmt::format("image_ids has an entry of {} bytes: at most {}",
                      std::max(architecture.size(), id.size()), kMaxImageIdBytes));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckStart(const v1::Start& start, const std::string& version) {
  // `coordinator cancel` tells none: it ends runs of any version.
  if (!start.version().empty() && start.version() != version) {
    return absl::FailedPreconditionError(
        fmt::format("this agent is fetchbench {}, the coordinator {}: both have to be of one "
                    "version; `bin/provision --upgrade` brings agents to the coordinator's",
                    version, OneLine(start.version(), kShownVersionBytes)));
  }
  if (!IsRunId(start.run_id())) {
    return absl::InvalidArgumentError(
        fmt::format("run id of {} bytes: 1 to {}, without control characters",
                    start.run_id().size(), kMaxRunIdBytes));
  }
  if (start.agent().size() > kMaxAgentNameBytes) {
    return absl::InvalidArgumentError(fmt::format("agent's name of {} bytes: at most {}",
                                                  start.agent().size(), kMaxAgentNameBytes));
  }
  if (start.last_committed_seq() > kMaxSeq) {
    return absl::InvalidArgumentError(
        fmt::format("last_committed_seq {}: at most {}", start.last_committed_seq(), kMaxSeq));
  }
  const std::chrono::milliseconds orphan(start.orphan_timeout_ms());
  if (orphan > kLongestOrphanTimeout) {
    return absl::InvalidArgumentError(fmt::format("orphan_timeout_ms {}: at most {} hours",
                                                  orphan.count(), kLongestOrphanTimeout.count()));
  }
  if (absl::Status s = CheckImageIds(start); !s.ok()) return s;
  return CheckOptions(start.options());
}

}  // namespace fetchbench::agent
