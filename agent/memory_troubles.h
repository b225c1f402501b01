#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// What became of the daemon's memory limit, for coordinators to be told, and which run is not to be
// begun once more for it. Pure; one thread. Times are UTC in microseconds.
class MemoryTroubles {
 public:
  // So often a run may be dropped: the first time may have been others' fault, whose connections
  // had taken the memory before.
  static constexpr int kMostDrops = 2;

  // Everybody was hung up on.
  void HungUp(uint64_t bytes, uint64_t limit, int64_t now_us);
  // And still there were `bytes`, so this run was dropped.
  void Dropped(const std::string& run_id, uint64_t bytes, uint64_t limit, int64_t now_us);

  // The last of these; null: there was none.
  const v1::MemoryTrouble* last() const { return last_ ? &*last_ : nullptr; }

  // ResourceExhausted: this run takes more memory than there may be, and what to do.
  absl::Status CheckRun(const std::string& run_id) const;

 private:
  std::optional<v1::MemoryTrouble> last_;
  std::optional<v1::MemoryTrouble> last_drop_;
  int drops_ = 0;  // of that run
};

}  // namespace fetchbench::agent
