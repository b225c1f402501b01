#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/fleet/agent_endpoint.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// The hosts of a fleet: a text file, one host a line,
//
//   NAME ADDRESS[:PORT] [key=value ...]
//
// with blank lines and comments from '#' on. Keys that are used: ssh=user@host[:port], arch=NAME;
// others are kept.
struct InventoryHost {
  AgentEndpoint endpoint;  // always with its name
  std::map<std::string, std::string> values;
  size_t line = 0;  // from 1
};

struct Inventory {
  std::vector<InventoryHost> hosts;   // in the file's order, each name and address once
  std::vector<std::string> problems;  // of the first lines that were skipped: "FILE:LINE: why"
  size_t skipped = 0;                 // lines, all of them

  std::vector<AgentEndpoint> Endpoints() const;
};

inline constexpr size_t kMaxInventoryBytes = 16 << 20;
inline constexpr size_t kMaxInventoryLine = 4096;  // bytes
inline constexpr size_t kMaxInventoryProblems = 20;

// `file` is for the messages. Pure.
Inventory ParseInventory(std::string_view text, const std::string& file);

// NotFound: it cannot be read; InvalidArgument: it names no host, or is too large.
absl::StatusOr<Inventory> ReadInventory(const std::string& file);

// Where an inventory is looked for that was not named, in this order. Pure.
std::vector<std::string> InventoryPlaces(const Environment& env);

}  // namespace fetchbench::coordinator
