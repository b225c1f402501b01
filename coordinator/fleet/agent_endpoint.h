#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/credentials.h"

namespace fetchbench::coordinator {

// Where an agent is, and which one it has to be. A value.
struct AgentEndpoint {
  std::string address;  // "host:port", "[ipv6]:port" or "unix:/path"
  std::string name;     // the host that it must be; empty: it has none but its address
  // What it is spoken to with (EquipAgents); null: plaintext.
  std::shared_ptr<const Credentials> credentials = nullptr;

  // For people and for what is written of a run.
  const std::string& shown() const { return name.empty() ? address : name; }

  friend bool operator==(const AgentEndpoint&, const AgentEndpoint&) = default;
};

inline constexpr std::string_view kDefaultAgentPort = "7311";

// "HOST", "HOST:PORT", "[IPV6]:PORT" or "unix:PATH" with its port filled in. Pure. InvalidArgument
// says what is wrong with the text.
absl::StatusOr<std::string> ParseAddress(std::string_view text, std::string_view default_port);

// The same with an optional name before it: "NAME=ADDRESS". Pure.
absl::StatusOr<AgentEndpoint> ParseAgentEndpoint(std::string_view text);

// What ParseAgentEndpoint reads as this one.
std::string EndpointText(const AgentEndpoint& endpoint);

// Adds a list of endpoints with commas between. InvalidArgument: one is not an endpoint, or an
// address or a name is there twice. Pure.
absl::Status AddAgents(std::string_view list, std::vector<AgentEndpoint>& agents);

}  // namespace fetchbench::coordinator
