#include "agent/container/container_config.h"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <boost/json.hpp>
#include <string_view>

#include "agent/container/entry/paths.h"
#include "common/docker/owner.h"

namespace fetchbench::agent {
namespace {

namespace json = boost::json;

constexpr const char* kNobody = "65534:65534";
// In memory, and counted as the container's. Runtimes unpack libraries there and map them
// executable.
constexpr const char* kTmpOptions = "rw,exec,nosuid,nodev,size=256m,mode=1777";
constexpr int64_t kNanoPerPermille = 1'000'000;

json::object Mount(const std::string& source, const char* target) {
  return {{"Type", "bind"}, {"Source", source}, {"Target", target}, {"ReadOnly", true}};
}

json::array Mounts(const ContainerMounts& mounts) {
  json::array array;
  array.push_back(Mount(mounts.entry, kEntryProgramPath));
  array.push_back(Mount(mounts.streams, kEntrySocketPath));
  if (!mounts.ca_file.empty()) array.push_back(Mount(mounts.ca_file, kContainerCaFile));
  if (!mounts.resolv_conf.empty()) array.push_back(Mount(mounts.resolv_conf, "/etc/resolv.conf"));
  return array;
}

json::object HostConfig(const ContainerSpec& spec, const ContainerMounts& mounts,
                        const std::string& cgroup_parent) {
  const v1::ContainerOptions& limits = spec.limits;
  const auto memory = static_cast<int64_t>(limits.memory_bytes());
  const auto files = static_cast<int64_t>(limits.open_files());
  json::object host = {
      {"NetworkMode", limits.network_mode()},
      {"NanoCpus", limits.cpu_permille() * kNanoPerPermille},
      {"Memory", memory},
      {"MemorySwap", memory},  // memory and swap together: no swap
      {"PidsLimit", limits.pids()},
      {"ReadonlyRootfs", true},
      {"Tmpfs", json::object{{"/tmp", kTmpOptions}}},
      {"CapDrop", json::array{"ALL"}},
      {"SecurityOpt", json::array{"no-new-privileges"}},
      {"Init", true},  // reaps orphans, and passes signals on to a program that has no handler
      {"LogConfig", json::object{{"Type", "none"}}},
      {"Ulimits", json::array{json::object{{"Name", "nofile"}, {"Soft", files}, {"Hard", files}}}},
      {"Mounts", Mounts(mounts)},
      {"RestartPolicy", json::object{{"Name", "no"}}},
  };
  if (!limits.cpuset().empty()) host["CpusetCpus"] = limits.cpuset();
  if (!cgroup_parent.empty()) host["CgroupParent"] = cgroup_parent;
  return host;
}

// By a name that /etc/passwd of the image gives to it, it may still be.
bool IsRoot(std::string_view user) {
  const std::string_view name = user.substr(0, user.find(':'));
  return name == "root" || (!name.empty() && name.find_first_not_of('0') == std::string_view::npos);
}

void Append(json::array& array, const std::vector<std::string>& strings, size_t from = 0) {
  for (size_t i = from; i < strings.size(); ++i) array.emplace_back(strings[i]);
}

}  // namespace

void SetImage(const docker::ImageInfo& image, ContainerSpec& spec) {
  spec.image = image.id;
  spec.entrypoint = image.entrypoint;
  spec.arguments = image.arguments;
  spec.user = image.user;
}

json::object ContainerConfig(const ContainerSpec& spec, const TargetCommand& command,
                             const ContainerMounts& mounts, const std::string& owner,
                             const std::string& cgroup_parent) {
  json::object labels = {{std::string(docker::kOwnerLabel), owner},
                         {"fetchbench.target", spec.target_name}};
  if (!spec.run_id.empty()) labels[std::string(docker::kRunLabel)] = spec.run_id;
  json::array environ;
  Append(environ, command.environ);
  json::array entrypoint{kEntryProgramPath};
  Append(entrypoint, spec.entrypoint);
  // With an entry point named, the Engine does not look at the image's arguments.
  json::array arguments;
  if (command.argv.size() > 1) {
    Append(arguments, command.argv, 1);
  } else {
    Append(arguments, spec.arguments);
  }
  json::object config = {
      {"Image", spec.image},
      {"Entrypoint", std::move(entrypoint)},
      {"Cmd", std::move(arguments)},
      {"Env", std::move(environ)},
      {"User", spec.user.empty() || IsRoot(spec.user) ? kNobody : spec.user},
      {"Tty", false},
      {"Labels", std::move(labels)},
      {"HostConfig", HostConfig(spec, mounts, cgroup_parent)},
  };
  return config;
}

absl::StatusOr<TargetCommand> ContainerCommand(const v1::FetchOptions& options) {
  if (options.connect_to_size() > 0) {
    return absl::InvalidArgumentError(
        "connect_to reaches child processes only: a container finds its hosts by resolver and "
        "network_mode");
  }
  TargetCommand command;
  command.argv = {""};  // the image's own entry point
  std::vector<std::string>& env = command.environ;
  env.push_back(fmt::format("CONCURRENCY={}", options.concurrency()));
  env.push_back(fmt::format("REQUEST_TIMEOUT={}.{:03}", options.timeout_ms() / 1000,
                            options.timeout_ms() % 1000));
  env.push_back(fmt::format("USER_AGENT={}",
                            options.user_agent().empty() ? "fetchbench" : options.user_agent()));
  if (options.threads() != 0) env.push_back(fmt::format("THREADS={}", options.threads()));
  if (!options.ca_pem().empty()) {
    command.ca_pem = options.ca_pem();
    for (const char* name : {"CA_FILE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS", "DENO_CERT"}) {
      env.push_back(fmt::format("{}={}", name, kContainerCaFile));
    }
  }
  return command;
}

absl::StatusOr<std::string> ResolverAddress(const std::string& resolver) {
  if (resolver.empty()) return std::string();
  std::string_view host = resolver;
  std::string_view port;
  // "1.2.3.4", "1.2.3.4:53", "[::1]:53", "::1"
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    port = end == std::string_view::npos ? "?" : host.substr(end + 1);
    host = host.substr(1, end == std::string_view::npos ? end : end - 1);
  } else if (const size_t colon = host.find(':');
             colon != std::string_view::npos &&
             host.find(':', colon + 1) == std::string_view::npos) {
    port = host.substr(colon);
    host = host.substr(0, colon);
  }
  boost::system::error_code error;
  const auto address = boost::asio::ip::make_address(std::string(host), error);
  if (error || (!port.empty() && port != ":53")) {
    return absl::InvalidArgumentError(
        fmt::format("resolver '{}': a container's must be an IP address and port 53", resolver));
  }
  return address.to_string();
}

}  // namespace fetchbench::agent
