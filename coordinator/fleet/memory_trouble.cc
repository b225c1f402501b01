#include "coordinator/fleet/memory_trouble.h"

#include <fmt/format.h>

#include "common/record_line.h"

namespace fetchbench::coordinator {

std::string MemoryTroubleText(const v1::MemoryTrouble& trouble) {
  if (trouble.at_us() == 0) return {};
  constexpr size_t kSeconds = 19;
  std::string at;
  AppendRfc3339(at, trouble.at_us());
  return fmt::format(
      "hung up on everybody{} at {}Z: it had {} MiB of memory, its limit is {} MiB "
      "(--memory-limit)",
      trouble.dropped_run_id().empty() ? "" : " and dropped its run", at.substr(0, kSeconds),
      trouble.memory_bytes() >> 20, trouble.limit_bytes() >> 20);
}

}  // namespace fetchbench::coordinator
