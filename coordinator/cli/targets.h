#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

// A client program that can be measured.
struct TargetInfo {
  std::string name;      // as --target takes it
  std::string language;  // columns of the tables
  std::string method;
  // Requests in flight for each agent when nobody says otherwise: what the target is good at.
  uint32_t concurrency = 10;
};

const std::vector<TargetInfo>& KnownTargets();
std::vector<std::string> TargetNames(const std::vector<TargetInfo>& targets);
// Null when there is none of that name.
const TargetInfo* FindTarget(const std::vector<TargetInfo>& targets, std::string_view name);
// What `coordinator targets` prints.
std::string TargetsText();

}  // namespace fetchbench::coordinator
