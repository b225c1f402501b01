#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

// A client program that can be measured.
struct TargetInfo {
  std::string name;      // as --target takes it
  std::string language;  // columns of the tables
  std::string method;
};

const std::vector<TargetInfo>& KnownTargets();
std::vector<std::string> TargetNames();
// Null when there is none of that name.
const TargetInfo* FindTarget(std::string_view name);
// What `coordinator targets` prints.
std::string TargetsText();

}  // namespace fetchbench::coordinator
