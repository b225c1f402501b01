#pragma once

#include <sched.h>

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench::agent {

// "1", "2-3", "0,4-6" -> the CPU numbers, sorted; empty for an empty text. InvalidArgument for
// anything else.
absl::StatusOr<std::vector<int>> ParseCpuList(std::string_view text);

// The CPUs that the calling thread may use.
std::vector<int> AllowedCpus();

// Restricts the calling thread, and the threads that it will start.
absl::Status RestrictTo(const std::vector<int>& cpus);

cpu_set_t CpuSet(const std::vector<int>& cpus);

}  // namespace fetchbench::agent
