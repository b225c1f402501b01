#include "coordinator/run/run_report.h"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <boost/json.hpp>

#include "common/record_line.h"
#include "coordinator/summary/disturbance_json.h"
#include "coordinator/ui/human_numbers.h"
#include "coordinator/ui/text.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

std::string HostInWords(const v1::HostFacts& host) {
  return fmt::format("{}, {}, {} CPU{}, {}", host.hostname(), host.cpu_model(), host.cpus(),
                     host.cpus() == 1 ? "" : "s", host.kernel());
}

std::string Rfc3339(int64_t us) {
  std::string text;
  AppendRfc3339(text, us);
  return text;
}

json::object HostJson(const v1::HostFacts& host) {
  return {{"hostname", host.hostname()},
          {"os", host.os()},
          {"kernel", host.kernel()},
          {"architecture", host.architecture()},
          {"cpu_model", host.cpu_model()},
          {"cpus", host.cpus()},
          {"memory_bytes", host.memory_bytes()},
          {"max_open_files", host.max_open_files()},
          {"target_cpus", json::array(host.target_cpus().begin(), host.target_cpus().end())}};
}

json::object TargetJson(const v1::TargetFacts& target) {
  json::array libraries;
  for (const std::string& library : target.libraries()) libraries.emplace_back(library);
  json::array bases;
  for (const v1::BaseImage& base : target.base_images()) {
    bases.push_back(json::object{
        {"reference", base.reference()}, {"image_id", base.image_id()}, {"digest", base.digest()}});
  }
  return {{"name", target.name()},
          {"version", target.version()},
          {"runtime", target.runtime()},
          {"libraries", std::move(libraries)},
          {"tls_library", target.tls_library()},
          {"tls_groups", target.tls_groups()},
          {"libc", target.libc()},
          {"image_digest", target.image_digest()},
          {"base_images", std::move(bases)}};
}

json::object ContainerJson(const v1::ContainerOptions& container) {
  return {{"cpu_permille", container.cpu_permille()}, {"cpuset", container.cpuset()},
          {"memory_bytes", container.memory_bytes()}, {"pids", container.pids()},
          {"open_files", container.open_files()},     {"network_mode", container.network_mode()}};
}

std::string LimitsInWords(const v1::ContainerOptions& container) {
  std::string words =
      fmt::format("container limits: {} CPU", static_cast<double>(container.cpu_permille()) / 1000);
  if (!container.cpuset().empty()) words += fmt::format(" on {}", container.cpuset());
  words += fmt::format(", {} memory, {} open files",
                       HumanBytes(static_cast<double>(container.memory_bytes())),
                       container.open_files());
  return words;
}

// What runs tells most; before it runs, what it told when it was made ready.
const v1::TargetFacts* BestFacts(const v1::Started* started, const v1::TargetFacts* prepared) {
  const bool told = started != nullptr && !started->target().name().empty();
  return told ? &started->target() : prepared;
}

json::object OptionsJson(const RunOptions& options) {
  json::array agents;
  for (const AgentEndpoint& agent : options.agents) agents.emplace_back(EndpointText(agent));
  json::object object{
      {"target", options.target.name},
      {"urls", options.urls},
      {"web", options.web == Web::kSim ? "sim" : "internet"},
      {"agents", std::move(agents)},
      {"concurrency", options.concurrency},
      {"per_host", options.per_host.value_or(0)},
      {"timeout_ms", options.timeout.count()},
      {"duration_ms", std::chrono::duration<double, std::milli>(options.duration).count()},
      {"user_agent", options.user_agent},
      {"allow_private", options.allow_private},
      {"max_body_bytes", options.max_body_bytes},
      {"threads", options.threads},
      {"image", options.image},
      {"build_arguments", json::value_from(options.build_arguments)},
      {"grace_ms", options.grace.count()}};
  if (options.limit != std::numeric_limits<uint64_t>::max()) object["limit"] = options.limit;
  return object;
}

json::object CoordinatorHostJson() {
  utsname names{};
  uname(&names);
  return {{"hostname", std::string(names.nodename)},
          {"kernel", fmt::format("{} {}", names.sysname, names.release)},
          {"architecture", std::string(names.machine)}};
}

json::object WebJson(const RunOptions& options, const OriginConfig& origin) {
  return {{"profile", origin.profile},     {"profile_sha256", origin.profile_sha256},
          {"seed", origin.seed},           {"origin_version", origin.version},
          {"ca_sha256", origin.ca_sha256}, {"control", options.origin}};
}

}  // namespace

std::vector<std::string> BasesInWords(const v1::TargetFacts& target) {
  std::vector<std::string> words;
  for (const v1::BaseImage& base : target.base_images()) {
    if (base.digest().empty()) {
      words.push_back(fmt::format("{} (image {})", base.reference(), base.image_id()));
    } else {
      const bool pinned = base.reference().find('@') != std::string::npos;
      words.push_back(pinned ? base.reference() : base.reference() + "@" + base.digest());
    }
  }
  return words;
}

RunFacts MakeFacts(const RunOptions& options, const RunIdentity& identity,
                   const OriginConfig* origin, const AgentBoard* board,
                   const v1::TargetFacts* prepared) {
  RunFacts f;
  f.run_id = identity.run_id;
  f.folder = identity.folder;
  f.version = FETCHBENCH_VERSION;
  f.started_at = Rfc3339(identity.started_us);
  f.target = options.target.name;
  f.language = options.target.language;
  f.method = options.target.method;
  const v1::Started* started = board == nullptr ? nullptr : board->AnyStarted();
  if (started != nullptr) f.host = HostInWords(started->host());
  if (started != nullptr && started->has_container()) {
    f.limits = LimitsInWords(started->container());
  }
  if (const v1::TargetFacts* target = BestFacts(started, prepared)) {
    f.target_version = target->version();
    f.runtime = target->runtime();
    f.libraries.assign(target->libraries().begin(), target->libraries().end());
    f.tls_library = target->tls_library();
    f.tls_groups = target->tls_groups();
    f.libc = target->libc();
    f.image_digest = target->image_digest();
    f.base_images = BasesInWords(*target);
  }
  f.web = options.web == Web::kSim ? "sim" : "internet";
  if (origin != nullptr) {
    f.profile = origin->profile;
    f.profile_sha256 = origin->profile_sha256;
    f.seed = origin->seed;
  }
  f.urls = identity.list_name;
  f.concurrency_per_agent = options.concurrency;
  f.concurrency = f.concurrency_per_agent * (board == nullptr ? 1 : board->size());
  f.per_host = options.per_host.value_or(0);
  f.timeout_us = std::chrono::microseconds(options.timeout).count();
  f.duration_limit_us = options.duration.count();
  f.user_agent = options.user_agent;
  return f;
}

Ledger MakeLedger(const ListCounts& list, const std::optional<LeaseCounts>& counts,
                  uint64_t committed) {
  Ledger ledger;
  ledger.total = list.urls;
  ledger.recorded = committed;
  if (!counts) {
    ledger.never_started = list.urls - list.invalid;
    return ledger;
  }
  ledger.never_started = counts->in_spool + counts->waiting + counts->lent;
  ledger.duplicates_dropped = counts->duplicates;
  ledger.requested_again = counts->lent_again;
  return ledger;
}

std::string MakeRunJson(const RunOptions& options, const RunIdentity& identity,
                        const OriginConfig* origin, const AgentBoard* board,
                        const v1::TargetFacts* prepared, const std::vector<Disturbance>& earlier) {
  json::object object{{"run_id", identity.run_id},
                      {"version", FETCHBENCH_VERSION},
                      {"started_at", Rfc3339(identity.started_us)},
                      {"list", identity.list_name},
                      {"options", OptionsJson(options)},
                      {"coordinator_host", CoordinatorHostJson()}};
  if (origin != nullptr) object["simulated_web"] = WebJson(options, *origin);
  json::array agents;
  for (AgentIndex i = 0; board != nullptr && i < board->size(); ++i) {
    json::object agent{{"name", board->name(i)}};
    if (const v1::Started* started = board->started(i)) {
      agent["host"] = HostJson(started->host());
      if (const v1::TargetFacts* target = BestFacts(started, prepared)) {
        agent["target"] = TargetJson(*target);
      }
      if (started->has_container()) agent["container"] = ContainerJson(started->container());
      agent["cost_basis"] = started->cost_basis();
      agent["clock_offset_ms"] = static_cast<double>(board->clock_offset_us(i)) / 1000;
    } else {
      agent["trouble"] = board->trouble(i);
    }
    agents.push_back(std::move(agent));
  }
  object["agents"] = std::move(agents);
  object["disturbed_earlier"] = DisturbancesJson(earlier);
  return json::serialize(object) + "\n";
}

std::string MakeTitle(const RunOptions& options) {
  if (options.web == Web::kInternet) return fmt::format("{}, internet", options.target.name);
  return fmt::format("{}, sim:{}, seed {}", options.target.name, options.profile, options.seed);
}

std::string WebLine(const RunOptions& options) {
  if (options.web == Web::kInternet) {
    return fmt::format("Web: the INTERNET. Real servers will be contacted{}.",
                       options.allow_private ? ", private addresses included" : "");
  }
  if (!options.origin.empty()) {
    return fmt::format("Web: simulated, by the origin at {}. The real web is not touched.",
                       options.origin);
  }
  return fmt::format("Web: simulated, profile {}, seed {}. The real web is not touched.",
                     Harmless(options.profile), options.seed);
}

}  // namespace fetchbench::coordinator
