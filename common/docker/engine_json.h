#pragma once

#include <boost/json.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace fetchbench::docker {

using Labels = std::map<std::string, std::string>;

struct EngineVersion {
  std::string version;      // "20.10.24+dfsg1"
  std::string api_version;  // "1.41"
};

struct EngineInfo {
  std::string version;
  std::string cgroup_driver;   // "cgroupfs" or "systemd"
  std::string cgroup_version;  // "1" or "2"
  std::string storage_driver;
};

struct ImageInfo {
  std::string id;  // "sha256:..."
  std::string user;
  std::vector<std::string> entrypoint;
  std::vector<std::string> arguments;  // "Cmd"
  Labels labels;
  std::vector<std::string> tags;     // "repository:tag"
  std::vector<std::string> digests;  // "repository@sha256:...", of where it was pulled from
  uint64_t bytes = 0;                // of all its layers
  int64_t tagged_s = 0;              // by the last tag, since the Unix epoch; 0: never, or not told
};

struct ImageSummary {
  std::string id;
  int64_t created_s = 0;          // since the Unix epoch
  std::vector<std::string> tags;  // "repository:tag"
};

struct ContainerInfo {
  std::string id;
  std::string name;    // without the slash
  std::string status;  // "created", "running", "exited", "removing", "dead" ...
  bool running = false;
  bool oom_killed = false;
  int exit_code = 0;
  std::string error;                             // why it could not be started
  int pid = 0;                                   // on the Engine's host; 0: not running
  std::map<std::string, std::string> addresses;  // network name -> IPv4 address
  boost::json::object raw;                       // all that the Engine said
};

struct ContainerSummary {
  std::string id;
  std::string name;
  std::string state;
  Labels labels;
};

struct ContainerStats {
  uint64_t user_us = 0;
  uint64_t system_us = 0;
  uint64_t memory_bytes = 0;
  uint64_t memory_peak_bytes = 0;  // 0 where the Engine does not tell (cgroup v2)
};

struct NetworkInfo {
  std::string id;
  std::string name;
  std::string subnet;   // "172.18.0.0/16", the first one
  std::string gateway;  // the host's address in it
  Labels labels;
  boost::json::object raw;
};

// What the Engine answers, taken apart; members that are missing stay empty. InvalidArgument: not
// the JSON that was expected. Pure.
absl::StatusOr<boost::json::object> ParseObject(std::string_view text);
absl::StatusOr<EngineVersion> ParseVersion(std::string_view text);
absl::StatusOr<EngineInfo> ParseInfo(std::string_view text);
absl::StatusOr<ImageInfo> ParseImage(std::string_view text);
absl::StatusOr<std::vector<ImageSummary>> ParseImages(std::string_view text);
absl::StatusOr<ContainerInfo> ParseContainer(std::string_view text);
absl::StatusOr<std::vector<ContainerSummary>> ParseContainers(std::string_view text);
absl::StatusOr<ContainerStats> ParseStats(std::string_view text);
absl::StatusOr<NetworkInfo> ParseNetwork(std::string_view text);
absl::StatusOr<std::vector<NetworkInfo>> ParseNetworks(std::string_view text);

// One line of the stream that a build, load or import answers.
struct BuildLine {
  std::string text;      // for a person, without line ends; may be empty
  std::string error;     // the step that failed, and how
  std::string image_id;  // "sha256:...", when the line tells it
};
BuildLine ParseBuildLine(std::string_view line);

std::string StringAt(const boost::json::object& object, std::string_view name);
int64_t NumberAt(const boost::json::object& object, std::string_view name);
const boost::json::object* ObjectAt(const boost::json::object& object, std::string_view name);
std::string Serialize(const boost::json::value& value);
boost::json::object ToJson(const Labels& labels);

}  // namespace fetchbench::docker
