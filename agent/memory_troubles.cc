#include "agent/memory_troubles.h"

#include <fmt/format.h>

namespace fetchbench::agent {
namespace {

v1::MemoryTrouble Make(uint64_t bytes, uint64_t limit, int64_t now_us) {
  v1::MemoryTrouble trouble;
  trouble.set_at_us(now_us);
  trouble.set_memory_bytes(bytes);
  trouble.set_limit_bytes(limit);
  return trouble;
}

}  // namespace

void MemoryTroubles::HungUp(uint64_t bytes, uint64_t limit, int64_t now_us) {
  last_ = Make(bytes, limit, now_us);
}

void MemoryTroubles::Dropped(const std::string& run_id, uint64_t bytes, uint64_t limit,
                             int64_t now_us) {
  drops_ = last_drop_ && last_drop_->dropped_run_id() == run_id ? drops_ + 1 : 1;
  last_ = Make(bytes, limit, now_us);
  last_->set_dropped_run_id(run_id);
  last_drop_ = last_;
}

absl::Status MemoryTroubles::CheckRun(const std::string& run_id) const {
  if (drops_ < kMostDrops || last_drop_->dropped_run_id() != run_id) return absl::OkStatus();
  return absl::ResourceExhaustedError(fmt::format(
      "run {} was dropped {} times because this agent had too much memory, {} MiB the last time; "
      "its limit is {} MiB (--memory-limit): start the agent with a higher one, or run with a "
      "lower --concurrency",
      run_id, drops_, last_drop_->memory_bytes() >> 20, last_drop_->limit_bytes() >> 20));
}

}  // namespace fetchbench::agent
