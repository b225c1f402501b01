#include "common/docker/engine_json.h"

#include <fmt/format.h>

#include <algorithm>

#include "absl/time/time.h"

namespace fetchbench::docker {
namespace {

namespace json = boost::json;

json::string_view View(std::string_view text) { return {text.data(), text.size()}; }

std::string Text(const json::string& text) { return {text.data(), text.size()}; }

absl::StatusOr<json::value> ParseValue(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse(View(text), error);
  if (error) {
    return absl::InvalidArgumentError(
        fmt::format("the Docker Engine answered what is no JSON: '{}'", text.substr(0, 200)));
  }
  return value;
}

absl::StatusOr<json::array> ParseArray(std::string_view text) {
  absl::StatusOr<json::value> value = ParseValue(text);
  if (!value.ok()) return value.status();
  if (value->is_null()) return json::array();
  if (!value->is_array()) {
    return absl::InvalidArgumentError("the Docker Engine answered JSON that is no list");
  }
  return std::move(value->get_array());
}

Labels LabelsAt(const json::object& object, std::string_view name) {
  Labels labels;
  const json::object* found = ObjectAt(object, name);
  if (found == nullptr) return labels;
  for (const auto& [key, value] : *found) {
    if (value.is_string()) {
      labels[std::string(key.data(), key.size())] = Text(value.get_string());
    }
  }
  return labels;
}

std::vector<std::string> StringsAt(const json::object& object, std::string_view name) {
  std::vector<std::string> strings;
  const json::value* found = object.if_contains(View(name));
  if (found == nullptr || !found->is_array()) return strings;
  for (const json::value& value : found->get_array()) {
    if (value.is_string()) strings.push_back(Text(value.get_string()));
  }
  return strings;
}

bool BoolAt(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(View(name));
  return value != nullptr && value->is_bool() && value->get_bool();
}

// The Engine writes container names with a leading slash.
std::string WithoutSlash(std::string name) {
  if (name.starts_with('/')) name.erase(0, 1);
  return name;
}

std::string FirstName(const json::object& object) {
  const json::value* names = object.if_contains("Names");
  if (names == nullptr || !names->is_array() || names->get_array().empty()) return {};
  const json::value& first = names->get_array().front();
  return first.is_string() ? WithoutSlash(Text(first.get_string())) : std::string();
}

NetworkInfo ToNetwork(json::object object) {
  NetworkInfo info;
  info.id = StringAt(object, "Id");
  info.name = StringAt(object, "Name");
  info.labels = LabelsAt(object, "Labels");
  const json::object* ipam = ObjectAt(object, "IPAM");
  const json::value* configs = ipam == nullptr ? nullptr : ipam->if_contains("Config");
  if (configs != nullptr && configs->is_array() && !configs->get_array().empty() &&
      configs->get_array().front().is_object()) {
    const json::object& first = configs->get_array().front().get_object();
    info.subnet = StringAt(first, "Subnet");
    info.gateway = StringAt(first, "Gateway");
  }
  info.raw = std::move(object);
  return info;
}

// Without a terminal's control sequences (ECMA-48: ESC [ parameters, a letter): the builder puts
// red around what a step prints on standard error.
std::string WithoutColours(std::string_view text) {
  std::string plain;
  while (true) {
    const size_t escape = std::min(text.find("\x1b["), text.size());
    plain += text.substr(0, escape);
    if (escape == text.size()) return plain;
    const size_t end = text.find_first_not_of("0123456789;?", escape + 2);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
}

// Of a time as RFC 3339 has it; 0 when it is none.
int64_t SecondsOf(const std::string& text) {
  absl::Time time;
  return absl::ParseTime(absl::RFC3339_full, text, &time, nullptr) ? absl::ToUnixSeconds(time) : 0;
}

}  // namespace

std::string StringAt(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(View(name));
  return value != nullptr && value->is_string() ? Text(value->get_string()) : std::string();
}

int64_t NumberAt(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(View(name));
  if (value == nullptr) return 0;
  if (value->is_int64()) return value->get_int64();
  if (value->is_uint64()) return static_cast<int64_t>(value->get_uint64());
  return 0;
}

const json::object* ObjectAt(const json::object& object, std::string_view name) {
  const json::value* value = object.if_contains(View(name));
  return value != nullptr ? value->if_object() : nullptr;
}

std::string Serialize(const json::value& value) { return json::serialize(value); }

json::object ToJson(const Labels& labels) {
  json::object object;
  for (const auto& [key, value] : labels) object[key] = value;
  return object;
}

absl::StatusOr<json::object> ParseObject(std::string_view text) {
  absl::StatusOr<json::value> value = ParseValue(text);
  if (!value.ok()) return value.status();
  if (!value->is_object()) {
    return absl::InvalidArgumentError("the Docker Engine answered JSON that is no object");
  }
  return std::move(value->get_object());
}

absl::StatusOr<EngineVersion> ParseVersion(std::string_view text) {
  const absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  return EngineVersion{StringAt(*object, "Version"), StringAt(*object, "ApiVersion")};
}

absl::StatusOr<EngineInfo> ParseInfo(std::string_view text) {
  const absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  EngineInfo info;
  info.version = StringAt(*object, "ServerVersion");
  info.cgroup_driver = StringAt(*object, "CgroupDriver");
  info.cgroup_version = StringAt(*object, "CgroupVersion");
  info.storage_driver = StringAt(*object, "Driver");
  return info;
}

absl::StatusOr<ImageInfo> ParseImage(std::string_view text) {
  const absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  ImageInfo info;
  info.id = StringAt(*object, "Id");
  info.tags = StringsAt(*object, "RepoTags");
  info.digests = StringsAt(*object, "RepoDigests");
  info.bytes = static_cast<uint64_t>(std::max<int64_t>(0, NumberAt(*object, "Size")));
  if (const json::object* config = ObjectAt(*object, "Config"); config != nullptr) {
    info.user = StringAt(*config, "User");
    info.entrypoint = StringsAt(*config, "Entrypoint");
    info.arguments = StringsAt(*config, "Cmd");
    info.labels = LabelsAt(*config, "Labels");
  }
  if (const json::object* metadata = ObjectAt(*object, "Metadata"); metadata != nullptr) {
    info.tagged_s = SecondsOf(StringAt(*metadata, "LastTagTime"));
  }
  return info;
}

absl::StatusOr<std::vector<ImageSummary>> ParseImages(std::string_view text) {
  const absl::StatusOr<json::array> array = ParseArray(text);
  if (!array.ok()) return array.status();
  std::vector<ImageSummary> images;
  for (const json::value& value : *array) {
    const json::object* object = value.if_object();
    if (object == nullptr) continue;
    images.push_back(
        {StringAt(*object, "Id"), NumberAt(*object, "Created"), StringsAt(*object, "RepoTags")});
  }
  return images;
}

absl::StatusOr<ContainerInfo> ParseContainer(std::string_view text) {
  absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  ContainerInfo info;
  info.id = StringAt(*object, "Id");
  info.name = WithoutSlash(StringAt(*object, "Name"));
  if (const json::object* state = ObjectAt(*object, "State"); state != nullptr) {
    info.status = StringAt(*state, "Status");
    info.running = BoolAt(*state, "Running");
    info.oom_killed = BoolAt(*state, "OOMKilled");
    info.exit_code = static_cast<int>(NumberAt(*state, "ExitCode"));
    info.error = StringAt(*state, "Error");
    info.pid = static_cast<int>(NumberAt(*state, "Pid"));
  }
  const json::object* settings = ObjectAt(*object, "NetworkSettings");
  const json::object* networks = settings == nullptr ? nullptr : ObjectAt(*settings, "Networks");
  if (networks != nullptr) {
    for (const auto& [name, value] : *networks) {
      const json::object* network = value.if_object();
      if (network == nullptr) continue;
      info.addresses[std::string(name.data(), name.size())] = StringAt(*network, "IPAddress");
    }
  }
  info.raw = *std::move(object);
  return info;
}

absl::StatusOr<std::vector<ContainerSummary>> ParseContainers(std::string_view text) {
  const absl::StatusOr<json::array> array = ParseArray(text);
  if (!array.ok()) return array.status();
  std::vector<ContainerSummary> result;
  for (const json::value& value : *array) {
    const json::object* object = value.if_object();
    if (object == nullptr) continue;
    result.push_back({StringAt(*object, "Id"), FirstName(*object), StringAt(*object, "State"),
                      LabelsAt(*object, "Labels")});
  }
  return result;
}

absl::StatusOr<ContainerStats> ParseStats(std::string_view text) {
  const absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  ContainerStats stats;
  constexpr int64_t kNsPerUs = 1'000;
  const json::object* cpu = ObjectAt(*object, "cpu_stats");
  const json::object* usage = cpu == nullptr ? nullptr : ObjectAt(*cpu, "cpu_usage");
  if (usage != nullptr) {
    stats.user_us = static_cast<uint64_t>(NumberAt(*usage, "usage_in_usermode") / kNsPerUs);
    stats.system_us = static_cast<uint64_t>(NumberAt(*usage, "usage_in_kernelmode") / kNsPerUs);
  }
  if (const json::object* memory = ObjectAt(*object, "memory_stats"); memory != nullptr) {
    stats.memory_bytes = static_cast<uint64_t>(NumberAt(*memory, "usage"));
    stats.memory_peak_bytes = static_cast<uint64_t>(NumberAt(*memory, "max_usage"));
  }
  return stats;
}

absl::StatusOr<NetworkInfo> ParseNetwork(std::string_view text) {
  absl::StatusOr<json::object> object = ParseObject(text);
  if (!object.ok()) return object.status();
  return ToNetwork(*std::move(object));
}

absl::StatusOr<std::vector<NetworkInfo>> ParseNetworks(std::string_view text) {
  absl::StatusOr<json::array> array = ParseArray(text);
  if (!array.ok()) return array.status();
  std::vector<NetworkInfo> result;
  for (json::value& value : *array) {
    if (value.is_object()) result.push_back(ToNetwork(std::move(value.get_object())));
  }
  return result;
}

BuildLine ParseBuildLine(std::string_view line) {
  BuildLine result;
  const absl::StatusOr<json::object> object = ParseObject(line);
  if (!object.ok()) {
    result.text = line;
    return result;
  }
  result.text = StringAt(*object, "stream");
  if (result.text.empty()) {
    result.text = StringAt(*object, "status");
    // An import's last word is its id.
    if (result.text.starts_with("sha256:")) result.image_id = result.text;
    if (const std::string id = StringAt(*object, "id"); !id.empty()) {
      result.text = fmt::format("{}: {}", id, result.text);
    }
  }
  result.text = WithoutColours(result.text);
  while (result.text.ends_with('\n') || result.text.ends_with('\r')) result.text.pop_back();
  result.error = StringAt(*object, "error");
  if (const json::object* aux = ObjectAt(*object, "aux"); aux != nullptr) {
    result.image_id = StringAt(*aux, "ID");
  }
  return result;
}

}  // namespace fetchbench::docker
