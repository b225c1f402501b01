#include "coordinator/fleet/inventory.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <utility>

namespace fetchbench::coordinator {
namespace {

absl::Status Wrong(const std::string& message) { return absl::InvalidArgumentError(message); }

// The words of a line, up to a comment.
std::vector<std::string_view> Words(std::string_view line) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos || line[begin] == '#') return words;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(kBlanks), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

absl::StatusOr<InventoryHost> ParseHost(const std::vector<std::string_view>& words) {
  if (words.size() < 2) return Wrong(fmt::format("'{}' has no address behind it", words[0]));
  auto endpoint = ParseAgentEndpoint(fmt::format("{}={}", words[0], words[1]));
  if (!endpoint.ok()) return endpoint.status();
  if (endpoint->name != words[0]) return Wrong(fmt::format("'{}' is no name of a host", words[0]));
  InventoryHost host;
  host.endpoint = *std::move(endpoint);
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return Wrong(fmt::format("'{}' is not key=value", words[i]));
    }
    const std::string key(words[i].substr(0, equals));
    if (!host.values.emplace(key, words[i].substr(equals + 1)).second) {
      return Wrong(fmt::format("{} is there twice", key));
    }
  }
  return host;
}

// Why a host cannot be taken beside those that are there; OK: it can.
absl::Status CheckNew(const InventoryHost& host, const std::map<std::string, size_t>& names,
                      const std::map<std::string, size_t>& addresses) {
  if (const auto it = names.find(host.endpoint.name); it != names.end()) {
    return Wrong(fmt::format("{} is in line {} already", it->first, it->second));
  }
  if (const auto it = addresses.find(host.endpoint.address); it != addresses.end()) {
    return Wrong(fmt::format("{} is in line {} already, by another name", it->first, it->second));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<AgentEndpoint> Inventory::Endpoints() const {
  std::vector<AgentEndpoint> endpoints;
  endpoints.reserve(hosts.size());
  for (const InventoryHost& host : hosts) endpoints.push_back(host.endpoint);
  return endpoints;
}

Inventory ParseInventory(std::string_view text, const std::string& file) {
  Inventory inventory;
  std::map<std::string, size_t> names;
  std::map<std::string, size_t> addresses;
  const auto skip = [&](size_t line, const absl::Status& why) {
    if (++inventory.skipped > kMaxInventoryProblems) return;
    inventory.problems.push_back(fmt::format("{}:{}: {}", file, line, std::string(why.message())));
  };
  for (size_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view whole = text.substr(0, end);
    const std::vector<std::string_view> words = Words(whole);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    absl::StatusOr<InventoryHost> host =
        whole.size() <= kMaxInventoryLine
            ? ParseHost(words)
            : Wrong(fmt::format("a line of {} bytes; at most {}", whole.size(), kMaxInventoryLine));
    const absl::Status status = host.ok() ? CheckNew(*host, names, addresses) : host.status();
    if (!status.ok()) {
      skip(line, status);
      continue;
    }
    host->line = line;
    names[host->endpoint.name] = line;
    addresses[host->endpoint.address] = line;
    inventory.hosts.push_back(*std::move(host));
  }
  return inventory;
}

absl::StatusOr<Inventory> ReadInventory(const std::string& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  std::array<char, 64 << 10> piece;
  while (stream && text.size() <= kMaxInventoryBytes) {
    stream.read(piece.data(), piece.size());
    text.append(piece.data(), static_cast<size_t>(stream.gcount()));
  }
  // A folder can be opened, but not read.
  if (!stream.is_open() || stream.bad()) {
    return absl::NotFoundError(fmt::format("inventory {} cannot be read", file));
  }
  if (text.size() > kMaxInventoryBytes) {
    return Wrong(fmt::format("inventory {} is larger than {} MiB", file, kMaxInventoryBytes >> 20));
  }
  Inventory inventory = ParseInventory(text, file);
  if (!inventory.hosts.empty()) return inventory;
  std::string why = "it is empty";
  if (inventory.skipped > 0) {
    why = fmt::format("{} line{} wrong, the first: {}", inventory.skipped,
                      inventory.skipped == 1 ? " is" : "s are", inventory.problems.front());
  }
  return Wrong(
      fmt::format("inventory {} names no host: {}. A line is NAME ADDRESS[:PORT]; "
                  "`bin/provision user@host` adds one",
                  file, why));
}

std::vector<std::string> InventoryPlaces(const Environment& env) {
  std::vector<std::string> places{"./deploy/inventory"};
  const std::string config = env("XDG_CONFIG_HOME").value_or("");
  const std::string home = env("HOME").value_or("");
  if (!config.empty()) {
    places.push_back(config + "/fetchbench/inventory");
  } else if (!home.empty()) {
    places.push_back(home + "/.config/fetchbench/inventory");
  }
  return places;
}

}  // namespace fetchbench::coordinator
