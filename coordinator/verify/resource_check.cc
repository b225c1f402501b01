#include "coordinator/verify/resource_check.h"

#include <fmt/format.h>

#include <map>
#include <set>

namespace fetchbench::coordinator {
namespace {

constexpr size_t kSmallRun = 400;
constexpr uint32_t kSmallConcurrency = 20;
constexpr size_t kManyHosts = 10'000;
constexpr uint32_t kManyConcurrency = 100;
constexpr size_t kSilentHosts = 1'000;
constexpr size_t kSlowNames = 100;
constexpr size_t kBystanders = 200;
constexpr uint64_t kMib = uint64_t{1} << 20;

// Ordinary hosts of the profile; the prefix keeps the checks' hosts apart.
void AddOrdinary(std::vector<std::string>& urls, std::string_view prefix, size_t count) {
  for (size_t i = 0; i < count; ++i) urls.push_back(fmt::format("https://{}-{}.test/", prefix, i));
}

void AddOf(std::vector<std::string>& urls, std::string_view behaviour, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    urls.push_back(fmt::format("http://h{}.{}.conformance.test/", i, behaviour));
  }
}

ResourceCheck WithBystanders(std::string name, std::string about, std::string_view behaviour,
                             size_t count) {
  ResourceCheck check{.name = std::move(name), .about = std::move(about), .urls = {}};
  AddOf(check.urls, behaviour, count);
  AddOrdinary(check.urls, behaviour, kBystanders);
  check.bystanders = kBystanders;
  check.concurrency = static_cast<uint32_t>(check.urls.size());
  return check;
}

void JudgeBystanders(const ResourceCheck& check, const std::vector<std::optional<Record>>& records,
                     std::vector<Finding>& findings) {
  size_t answered = 0;
  std::map<std::string, size_t> others;
  for (size_t i = check.urls.size() - check.bystanders; i < records.size(); ++i) {
    if (!records[i]) {
      ++others["no record"];
    } else if (records[i]->outcome == Outcome::kStatus && records[i]->status == 200) {
      ++answered;
    } else {
      ++others[std::string(OutcomeName(records[i]->outcome))];
    }
  }
  if (answered == check.bystanders) return;
  std::string text =
      fmt::format("{} of {} ordinary hosts were answered;", answered, check.bystanders);
  for (const auto& [what, count] : others) text += fmt::format(" {} {}", count, what);
  findings.push_back({"others_starved", std::move(text), /*by_deadline=*/true});
}

}  // namespace

std::vector<ResourceCheck> ResourceChecks() {
  ResourceCheck limit{
      .name = "limit-in-flight",
      .about = "400 hosts, 20 at a time: never more in flight, by the origin's count",
      .urls = {},
      .concurrency = kSmallConcurrency,
      .bystanders = kSmallRun};
  AddOrdinary(limit.urls, "limit", kSmallRun);
  ResourceCheck memory{
      .name = "memory-10000-hosts",
      .about = "10,000 hosts that keep connections alive: memory does not grow with them",
      .urls = {},
      .concurrency = kManyConcurrency,
      .bystanders = kManyHosts,
      .compared_with = limit.name};
  AddOrdinary(memory.urls, "many", kManyHosts);
  return {
      std::move(limit), std::move(memory),
      WithBystanders("silent-1000-hosts",
                     "1,000 hosts that never answer, all at once: 200 others are still answered",
                     "never-answers", kSilentHosts),
      WithBystanders("slow-dns",
                     "100 names whose resolver is silent: 200 others are still answered",
                     "dns-silent", kSlowNames)};
}

std::vector<ResourceCheck> ChooseChecks(std::vector<ResourceCheck> checks,
                                        const std::function<bool(const std::string&)>& wanted) {
  std::set<std::string> names;
  for (const ResourceCheck& check : checks) {
    if (!wanted(check.name)) continue;
    names.insert(check.name);
    if (!check.compared_with.empty()) names.insert(check.compared_with);
  }
  std::erase_if(checks, [&names](const ResourceCheck& c) { return !names.contains(c.name); });
  return checks;
}

std::vector<Finding> JudgeResource(const ResourceCheck& check,
                                   const std::vector<std::optional<Record>>& records,
                                   const Summary& summary, uint64_t peak_before_bytes) {
  std::vector<Finding> findings;
  JudgeBystanders(check, records, findings);
  if (summary.origin && summary.origin->most_in_flight > check.concurrency) {
    findings.push_back(
        {"in_flight", fmt::format("{} requests in flight, {} were allowed",
                                  summary.origin->most_in_flight, check.concurrency)});
  }
  const uint64_t peak = summary.cost.peak_rss_bytes_max;
  if (!check.compared_with.empty() && peak > peak_before_bytes + kMemoryGrowthLimit) {
    findings.push_back(
        {"memory_growth", fmt::format("peak memory {} MiB, in {} it was {} MiB", peak / kMib,
                                      check.compared_with, peak_before_bytes / kMib)});
  }
  return findings;
}

}  // namespace fetchbench::coordinator
