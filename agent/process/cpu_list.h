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

// Whether all of these are CPUs that this process, or a child, may be restricted to; it may itself
// keep to fewer. InvalidArgument, about `option`, else: which are not, and which there are.
absl::Status CheckCpus(std::string_view option, const std::vector<int>& cpus);

// Restricts the calling thread, and the threads that it will start.
absl::Status RestrictTo(const std::vector<int>& cpus);

cpu_set_t CpuSet(const std::vector<int>& cpus);

}  // namespace fetchbench::agent
