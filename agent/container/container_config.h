#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/target_process.h"
#include "common/docker/engine_json.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Where a container finds the CA certificates that it is told to trust.
inline constexpr const char* kContainerCaFile = "/etc/fetchbench-ca.pem";

// One container to be made.
struct ContainerSpec {
  std::string target_name;  // for texts and labels
  std::string run_id;       // empty: not of a run
  std::string image;        // id or reference
  // The image's own: its program, and arguments when the command has none.
  std::vector<std::string> entrypoint;
  std::vector<std::string> arguments;
  std::string user;             // the image's own; empty: nobody
  v1::ContainerOptions limits;  // as applied, every field set
  std::string resolver;         // its DNS server's address; empty: the Engine's choice
};

// What `spec` has of the image that it is made of.
void SetImage(const docker::ImageInfo& image, ContainerSpec& spec);

// The files of the host that are mounted into it, read-only; empty: none.
struct ContainerMounts {
  std::string entry;    // the program fetchbench-entry
  std::string streams;  // the socket that it gets the standard streams from
  std::string ca_file;
  std::string resolv_conf;
};

// The body of the Engine's create call. Pure.
boost::json::object ContainerConfig(const ContainerSpec& spec, const TargetCommand& command,
                                    const ContainerMounts& mounts, const std::string& owner,
                                    const std::string& cgroup_parent);

// What a target in a container is told (lib/CONTRACT.md). InvalidArgument: an option that has no
// meaning there. Of private addresses it is told nothing: its network keeps it from them. Pure.
absl::StatusOr<TargetCommand> ContainerCommand(const v1::FetchOptions& options);

// The address in FetchOptions.resolver, whose port can only be 53: resolv.conf knows no other.
absl::StatusOr<std::string> ResolverAddress(const std::string& resolver);

}  // namespace fetchbench::agent
