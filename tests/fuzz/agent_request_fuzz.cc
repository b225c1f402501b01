// Any bytes as the Start of a run, which names target, options and limits as Prepare does: what an
// agent decides about them, and makes of them, before it starts anything.
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "agent/container/container_config.h"
#include "agent/container/container_limits.h"
#include "agent/container/image_key.h"
#include "agent/native_command.h"
#include "agent/start_check.h"

namespace fetchbench::agent {
namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

// What the kernel takes as arguments or environment ends at a NUL.
void CheckStrings(const std::vector<std::string>& strings) {
  for (const std::string& text : strings) Check(text.find('\0') == std::string::npos);
}

void CheckLimits(const v1::ContainerOptions& limits) {
  Check(limits.memory_bytes() > 0 && limits.memory_bytes() <= kMostMemoryBytes);
  Check(limits.pids() > 0 && limits.pids() <= kMostPids);
  Check(limits.open_files() > 0 && limits.open_files() <= kMostOpenFiles);
  Check(limits.network_mode() != "host" && !limits.network_mode().empty());
}

void CheckKey(const ImageKey& key) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyz0123456789-._";
  constexpr std::string_view kOurs = "fetchbench/";
  Check(key.repository.starts_with(kOurs));
  Check(key.repository.find_first_not_of(kPlain, kOurs.size()) == std::string::npos);
}

void CheckContainer(const v1::Start& start, const v1::ContainerOptions& limits) {
  const absl::StatusOr<TargetCommand> command = ContainerCommand(start.options());
  const absl::StatusOr<std::string> resolver = ResolverAddress(start.options().resolver());
  if (!command.ok() || !resolver.ok()) return;
  CheckStrings(command->environ);
  Check(resolver->find_first_of("\n ") == std::string::npos);  // it becomes a line of resolv.conf
  ContainerSpec spec;
  spec.target_name = start.target().name();
  spec.run_id = start.run_id();
  spec.limits = limits;
  const boost::json::object config = ContainerConfig(spec, *command, {}, "owner", "");
  const boost::json::object& host = config.at("HostConfig").as_object();
  Check(host.at("Memory").as_int64() > 0);
  Check(host.at("NanoCpus").to_number<int64_t>() > 0);
  boost::system::error_code error;
  Check(boost::json::parse(boost::json::serialize(config), error).is_object() && !error);
}

void Take(const v1::Start& start) {
  if (const absl::StatusOr<ImageKey> key = KeyOf(start.target()); key.ok()) CheckKey(*key);
  const absl::StatusOr<v1::ContainerOptions> limits =
      ApplyLimits(start.container(), {0, 1}, uint64_t{1} << 20);
  if (limits.ok()) CheckLimits(*limits);
  if (!CheckStart(start, "1.0.0").ok()) return;
  CheckStrings(NativeCommand("program", start.options()).argv);
  if (limits.ok()) CheckContainer(start, *limits);
}

}  // namespace
}  // namespace fetchbench::agent

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  google::protobuf::SetLogHandler(nullptr);
  fetchbench::v1::Start start;
  if (start.ParseFromArray(data, static_cast<int>(size))) fetchbench::agent::Take(start);
  return 0;
}
