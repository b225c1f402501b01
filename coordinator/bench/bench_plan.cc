#include "coordinator/bench/bench_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <numeric>
#include <random>

#include "coordinator/cli/suggest.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

constexpr int64_t kMaxConcurrency = 100'000;

absl::StatusOr<BenchSetting> ReadSetting(const json::value& value, size_t number) {
  const auto wrong = [number](std::string_view what) {
    return absl::InvalidArgumentError(fmt::format("entry {}: {}", number, what));
  };
  const json::object* object = value.if_object();
  if (object == nullptr) return wrong("it is no object");
  BenchSetting setting;
  const json::value* name = object->if_contains("name");
  if (name == nullptr || !name->is_string() || name->get_string().empty()) {
    return wrong("name must be the name of a target");
  }
  setting.name = name->get_string();
  if (const json::value* v = object->if_contains("concurrency"); v != nullptr) {
    const int64_t number_of = v->is_int64() ? v->get_int64() : 0;
    if (number_of < 1 || number_of > kMaxConcurrency) {
      return wrong(fmt::format("concurrency must be a whole number from 1 to {}", kMaxConcurrency));
    }
    setting.concurrency = static_cast<uint32_t>(number_of);
  }
  return setting;
}

const BenchSetting* SettingOf(const std::vector<BenchSetting>& settings, const TargetInfo& target,
                              const TargetRegistry& registry) {
  for (const BenchSetting& setting : settings) {
    const TargetInfo* named = registry.Find(setting.name);
    if (named != nullptr && named->name == target.name) return &setting;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<std::vector<BenchSetting>> ParseBenchSettings(std::string_view text) {
  boost::system::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_array()) {
    return absl::InvalidArgumentError("not a JSON array of {\"name\", \"concurrency\"}");
  }
  std::vector<BenchSetting> settings;
  for (const json::value& entry : value.get_array()) {
    auto setting = ReadSetting(entry, settings.size() + 1);
    if (!setting.ok()) return setting.status();
    settings.push_back(*std::move(setting));
  }
  return settings;
}

absl::StatusOr<std::vector<TargetInfo>> BenchTargets(const std::vector<BenchSetting>& settings,
                                                     const std::vector<std::string>& names,
                                                     uint32_t concurrency,
                                                     const TargetRegistry& registry) {
  std::vector<std::string> wanted = names;
  if (wanted.empty()) {
    for (const BenchSetting& setting : settings) wanted.push_back(setting.name);
  }
  if (wanted.empty()) return absl::InvalidArgumentError("the settings name no target");
  std::vector<TargetInfo> targets;
  for (const std::string& name : wanted) {
    const TargetInfo* found = registry.Find(name);
    if (found == nullptr) {
      return absl::InvalidArgumentError(NoSuchTarget(name, registry.Words()));
    }
    const bool twice = std::ranges::any_of(
        targets, [found](const TargetInfo& other) { return other.name == found->name; });
    if (twice) return absl::InvalidArgumentError(fmt::format("target {} is named twice", name));
    TargetInfo target = *found;
    const BenchSetting* setting = SettingOf(settings, target, registry);
    if (setting != nullptr && setting->concurrency != 0) target.concurrency = setting->concurrency;
    if (concurrency != 0) target.concurrency = concurrency;
    targets.push_back(std::move(target));
  }
  return targets;
}

std::vector<BenchStep> PlanSteps(size_t targets, uint32_t rounds, uint64_t seed) {
  std::vector<BenchStep> steps;
  for (size_t i = 0; i < targets; ++i) steps.push_back({i, 0});
  std::mt19937_64 random(seed);
  for (uint32_t round = 1; round <= rounds; ++round) {
    std::vector<size_t> order(targets);
    std::iota(order.begin(), order.end(), size_t{0});
    // Fisher and Yates by hand: std::shuffle may differ between standard libraries.
    for (size_t i = targets; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    for (const size_t target : order) steps.push_back({target, round});
  }
  return steps;
}

}  // namespace fetchbench::coordinator
