#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// This machine; `clock_us` stays 0, it is set for each answer. Reads a few files, once at start.
v1::HostFacts ReadHostFacts(const std::vector<int>& cpus, const std::vector<int>& target_cpus);

// Load of this machine over the last minute, in thousandths; 0 when it cannot be told.
uint32_t LoadPermille();

// Pure parts: "PRETTY_NAME" of an os-release file, and the first "model name" of /proc/cpuinfo.
std::string OsName(std::string_view os_release);
std::string CpuModel(std::string_view cpuinfo);

}  // namespace fetchbench::agent
