#include "coordinator/fleet/use_inventory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <utility>

#include "coordinator/fleet/inventory.h"

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kDefault = "default";

std::optional<std::string> FindDefault(const Environment& env) {
  for (const std::string& place : InventoryPlaces(env)) {
    std::error_code error;
    if (std::filesystem::exists(place, error)) return place;
  }
  return std::nullopt;
}

absl::StatusOr<std::string> FileOf(const std::string& named, const Environment& env) {
  if (named != kDefault) return named;
  std::optional<std::string> file = FindDefault(env);
  if (file) return *std::move(file);
  return absl::NotFoundError(
      fmt::format("there is no default inventory: neither {}; `bin/provision user@host` makes one",
                  fmt::join(InventoryPlaces(env), " nor ")));
}

absl::StatusOr<std::vector<AgentEndpoint>> ReadAgents(
    const std::string& file, const std::function<void(const std::string&)>& report) {
  const absl::StatusOr<Inventory> inventory = ReadInventory(file);
  if (!inventory.ok()) return inventory.status();
  for (const std::string& problem : inventory->problems) report(problem);
  if (inventory->skipped > 0) {
    report(fmt::format("inventory {}: {} line{} skipped, {} hosts are used", file,
                       inventory->skipped, inventory->skipped == 1 ? " was" : "s were",
                       inventory->hosts.size()));
  }
  return inventory->Endpoints();
}

// Those of `agents` and `cancel`.
absl::Status FillAsked(Options& options, const Environment& env,
                       const std::function<void(const std::string&)>& report) {
  if (!options.agents.empty()) return absl::OkStatus();
  std::optional<std::string> file = FindDefault(env);
  if (!options.inventory.empty()) {
    absl::StatusOr<std::string> named = FileOf(options.inventory, env);
    if (!named.ok()) return named.status();
    file = *std::move(named);
  }
  if (!file) {
    options.agents = {{.address = "127.0.0.1:7311", .name = ""}};
    return absl::OkStatus();
  }
  auto agents = ReadAgents(*file, report);
  if (!agents.ok()) return agents.status();
  options.agents = *std::move(agents);
  return absl::OkStatus();
}

absl::Status FillRun(Options& options, RunOptions& run, const Environment& env,
                     const std::function<void(const std::string&)>& report) {
  if (options.inventory.empty()) return absl::OkStatus();
  const absl::StatusOr<std::string> file = FileOf(options.inventory, env);
  if (!file.ok()) return file.status();
  auto agents = ReadAgents(*file, report);
  if (!agents.ok()) return agents.status();
  run.agents = *std::move(agents);
  return CheckWeb(run);
}

}  // namespace

absl::Status UseInventory(Options& options, const Environment& env,
                          const std::function<void(const std::string&)>& report) {
  switch (options.command) {
    case Command::kAgents:
    case Command::kCancel:
      return FillAsked(options, env, report);
    case Command::kRun:
      return FillRun(options, options.run, env, report);
    case Command::kBench:
      return FillRun(options, options.bench.run, env, report);
    default:
      return absl::OkStatus();
  }
}

}  // namespace fetchbench::coordinator
