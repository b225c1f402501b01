#include "coordinator/run/resume_state.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <boost/json.hpp>
#include <chrono>
#include <cmath>

#include "coordinator/cli/setting_ranges.h"
#include "coordinator/run/json_fields.h"
#include "coordinator/summary/disturbance_json.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

// Of this file's form.
constexpr uint32_t kForm = 2;  // 2: image ids, and whom earlier sessions lost

// Far beyond what there is, and far from where sums of such numbers overflow.
constexpr int64_t kLatestUs = int64_t{1} << 60;
constexpr uint32_t kMaxSessions = 1'000'000;

template <typename Message>
std::string MessageText(const Message& message) {
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text);
  return status.ok() ? text : "{}";
}

// `text`: what MessageText made of one; that it is, the caller says of `name`.
template <typename Message>
Message MessageOf(const JsonFields& o, std::string_view name, const std::string& text) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(
      text, &message, google::protobuf::util::JsonParseOptions());
  if (!status.ok()) o.Mismatch(name, fmt::format("a {} as JSON", Message::descriptor()->name()));
  return message;
}

json::array AgentsJson(const std::vector<AgentEndpoint>& agents) {
  json::array array;
  for (const AgentEndpoint& agent : agents) array.emplace_back(EndpointText(agent));
  return array;
}

std::vector<AgentEndpoint> AgentsOf(const JsonFields& o) {
  std::vector<AgentEndpoint> agents;
  for (const std::string& text : o.Texts("agents")) {
    auto agent = ParseAgentEndpoint(text);
    if (!agent.ok()) {
      o.Mismatch("agents", "an array of addresses");
      return {};
    }
    agents.push_back(*std::move(agent));
  }
  return agents;
}

json::object OptionsJson(const RunOptions& o) {
  return {{"target", o.target.name},
          {"urls", o.urls},
          {"agents", AgentsJson(o.agents)},
          {"credentials", o.credentials.named},
          {"web", o.web == Web::kSim ? "sim" : "internet"},
          {"profile", o.profile},
          {"origin", o.origin},
          {"concurrency", o.concurrency},
          {"per_host", o.per_host.value_or(0)},
          {"limit", o.limit},
          {"duration_us", o.duration.count()},
          {"timeout_ms", o.timeout.count()},
          {"user_agent", o.user_agent},
          {"seed", o.seed},
          {"allow_private", o.allow_private},
          {"max_body_bytes", o.max_body_bytes},
          {"threads", o.threads},
          {"grace_ms", o.grace.count()},
          {"silence_ms", o.silence.count()},
          {"give_up_after_ms", o.give_up_after.count()},
          {"connect_timeout_ms", o.connect_timeout.count()},
          {"image", o.image},
          {"cpu_permille", o.cpu_permille},
          {"cpuset", o.cpuset},
          {"memory_bytes", o.memory_bytes},
          {"build_arguments", json::value_from(o.build_arguments)},
          {"base_images", o.base_images},
          {"base_images_must_exist", o.base_images_must_exist}};
}

template <typename Duration>
Duration DurationOf(const JsonFields& o, std::string_view name, const Range<double>& seconds) {
  const auto count = [](double s) {
    return int64_t{std::chrono::round<Duration>(std::chrono::duration<double>(s)).count()};
  };
  return Duration(o.Number(name, count(seconds.least), count(seconds.most)));
}

template <typename Integer>
Integer NumberOf(const JsonFields& o, std::string_view name, const Range<Integer>& range) {
  return o.Number(name, range.least, range.most);
}

// 0: the option was not given.
template <typename Integer>
Integer NumberOrNoneOf(const JsonFields& o, std::string_view name, const Range<Integer>& range) {
  return o.NumberOrNone(name, range.least, range.most);
}

uint32_t Permille(double cpus) { return static_cast<uint32_t>(std::lround(cpus * 1000)); }

int64_t TimeOf(const JsonFields& o, std::string_view name) {
  return o.Number(name, int64_t{0}, kLatestUs);
}

Web WebOf(const JsonFields& o) {
  const std::string web = o.Text("web");
  if (web != "sim" && web != "internet") o.Mismatch("web", "\"sim\" or \"internet\"");
  return web == "internet" ? Web::kInternet : Web::kSim;
}

// Without the target.
RunOptions OptionsOf(const JsonFields& o) {
  RunOptions options;
  options.urls = o.Text("urls");
  options.agents = AgentsOf(o);
  options.credentials.named = o.Text("credentials");
  options.web = WebOf(o);
  options.profile = o.Text("profile");
  options.origin = o.Text("origin");
  options.concurrency = NumberOf(o, "concurrency", kConcurrencies);
  options.per_host = NumberOf(o, "per_host", kPerHosts);
  options.limit = o.Number<uint64_t>("limit");
  options.duration = DurationOf<std::chrono::microseconds>(o, "duration_us", kAnySeconds);
  options.timeout = DurationOf<std::chrono::milliseconds>(o, "timeout_ms", kTimeouts);
  options.user_agent = o.Text("user_agent");
  options.seed = o.Number<uint64_t>("seed");
  options.allow_private = o.Flag("allow_private");
  options.max_body_bytes = NumberOrNoneOf(o, "max_body_bytes", kBodyBytes);
  options.threads = NumberOrNoneOf(o, "threads", kThreadCounts);
  options.grace = DurationOf<std::chrono::milliseconds>(o, "grace_ms", kAnySeconds);
  options.silence = DurationOf<std::chrono::milliseconds>(o, "silence_ms", kSilences);
  options.give_up_after = DurationOf<std::chrono::milliseconds>(o, "give_up_after_ms", kAnySeconds);
  options.connect_timeout =
      DurationOf<std::chrono::milliseconds>(o, "connect_timeout_ms", kConnectTimeouts);
  options.image = o.Text("image");
  options.cpu_permille =
      o.NumberOrNone("cpu_permille", Permille(kCpus.least), Permille(kCpus.most));
  options.cpuset = o.Text("cpuset");
  options.memory_bytes = NumberOrNoneOf(o, "memory_bytes", kMemoryBytes);
  options.build_arguments = o.TextByName("build_arguments");
  options.base_images = o.Text("base_images");
  options.base_images_must_exist = o.Flag("base_images_must_exist");
  return options;
}

json::array PausesJson(const std::vector<Pause>& pauses) {
  json::array array;
  for (const Pause& pause : pauses) {
    array.push_back(json::object{{"from_us", pause.from_us}, {"until_us", pause.until_us}});
  }
  return array;
}

std::vector<Disturbance> DisturbancesOf(const std::vector<JsonFields>& objects) {
  std::vector<Disturbance> disturbances;
  for (const JsonFields& d : objects) {
    disturbances.push_back({d.Text("name"), d.Flag("lost"), d.Number<uint32_t>("reconnects"),
                            d.Number<uint64_t>("urls_moved"), d.Text("trouble")});
  }
  return disturbances;
}

ResumeState StateOf(const JsonFields& o) {
  ResumeState s;
  s.version = o.Text("fetchbench");
  s.identity.run_id = o.Text("run_id");
  s.identity.started_us = TimeOf(o, "started_us");
  s.identity.list_name = o.Text("list");
  s.options = OptionsOf(o.Object("options"));
  s.list_loaded = o.Flag("list_loaded");
  s.urls = o.Number<uint64_t>("urls");
  s.invalid = o.Number<uint64_t>("invalid", 0, s.urls);
  s.target = MessageOf<v1::TargetSpec>(o, "target", o.Text("target"));
  for (const auto& [name, facts] : o.TextByName("facts")) {
    s.facts[name] = MessageOf<v1::TargetFacts>(o.Object("facts"), name, facts);
  }
  s.image_ids = o.TextByName("image_ids");
  s.profile_sha256 = o.Text("profile_sha256");
  s.sessions = o.Number<uint32_t>("sessions", 1, kMaxSessions);
  for (const JsonFields& pause : o.Objects("pauses")) {
    s.pauses.push_back({TimeOf(pause, "from_us"), TimeOf(pause, "until_us")});
  }
  s.fed_since_us = TimeOf(o, "fed_since_us");
  s.fed_us = TimeOf(o, "fed_us");
  s.down_since_us = TimeOf(o, "down_since_us");
  s.end = o.Text("end");
  s.ended_us = TimeOf(o, "ended_us");
  s.disturbed = DisturbancesOf(o.Objects("disturbed"));
  s.disturbed_earlier = DisturbancesOf(o.Objects("disturbed_earlier"));
  s.duplicates_dropped = o.Number<uint64_t>("duplicates_dropped");
  s.requested_again = o.Number<uint64_t>("requested_again");
  return s;
}

// What can be done is the same for all of it.
absl::Status Damaged(std::string_view how) {
  return absl::DataLossError(
      fmt::format("{}: the file is damaged, and the run cannot be resumed; what it has recorded "
                  "stays in records.db beside it. Put the file back if there is a copy of it, else "
                  "begin a new run",
                  how));
}

void NoteChange(std::string& words, std::string_view what, const std::string& then,
                const std::string& now) {
  if (then == now) return;
  words += fmt::format("{}{} was {}, is {}", words.empty() ? "" : "; ", what,
                       then.empty() ? "none" : then, now.empty() ? "none" : now);
}

template <typename Texts>
std::string Joined(const Texts& texts) {
  std::string joined;
  for (const auto& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

}  // namespace

std::string ToJson(const ResumeState& s) {
  json::object facts;
  for (const auto& [name, of_agent] : s.facts) facts[name] = MessageText(of_agent);
  const json::object object{{"form", kForm},
                            {"fetchbench", s.version},
                            {"run_id", s.identity.run_id},
                            {"started_us", s.identity.started_us},
                            {"list", s.identity.list_name},
                            {"options", OptionsJson(s.options)},
                            {"list_loaded", s.list_loaded},
                            {"urls", s.urls},
                            {"invalid", s.invalid},
                            {"target", MessageText(s.target)},
                            {"facts", std::move(facts)},
                            {"image_ids", json::value_from(s.image_ids)},
                            {"profile_sha256", s.profile_sha256},
                            {"sessions", s.sessions},
                            {"pauses", PausesJson(s.pauses)},
                            {"fed_since_us", s.fed_since_us},
                            {"fed_us", s.fed_us},
                            {"down_since_us", s.down_since_us},
                            {"end", s.end},
                            {"ended_us", s.ended_us},
                            {"disturbed", DisturbancesJson(s.disturbed)},
                            {"disturbed_earlier", DisturbancesJson(s.disturbed_earlier)},
                            {"duplicates_dropped", s.duplicates_dropped},
                            {"requested_again", s.requested_again}};
  return json::serialize(object) + "\n";
}

absl::StatusOr<ResumeState> ParseResumeState(std::string_view text, const TargetRegistry& targets) {
  boost::system::error_code error;
  const json::value value = json::parse({text.data(), text.size()}, error);
  if (error || !value.is_object()) return Damaged("it is no JSON object, or not a whole one");
  absl::Status status;
  const JsonFields fields(value.get_object(), status);
  const auto form = fields.Number<uint32_t>("form");
  const std::string version = fields.Text("fetchbench");
  if (!status.ok()) return Damaged(std::string(status.message()));
  if (form != kForm || version != FETCHBENCH_VERSION) {
    return absl::FailedPreconditionError(
        fmt::format("fetchbench {} in form {} wrote it, this is " FETCHBENCH_VERSION
                    " in form {}: go on with the build that it was begun with",
                    version, form, kForm));
  }
  ResumeState state = StateOf(fields);
  const std::string target = fields.Object("options").Text("target");
  if (!status.ok()) return Damaged(std::string(status.message()));
  const TargetInfo* known = targets.Find(target);
  if (known == nullptr) {
    return absl::FailedPreconditionError(fmt::format(
        "its target {} is not there any more: put its folder back, or begin a new run", target));
  }
  state.options.target = *known;
  return state;
}

std::string DifferenceOf(const v1::TargetSpec& then, const v1::TargetSpec& now) {
  std::string words;
  NoteChange(words, "the target", then.name(), now.name());
  NoteChange(words, "the image", then.image(), now.image());
  NoteChange(words, "the digest of its folder", then.context_sha256(), now.context_sha256());
  for (const auto& [name, value] : then.build_args()) {
    const auto at = now.build_args().find(name);
    NoteChange(words, "build argument " + name, value,
               at == now.build_args().end() ? "" : at->second);
  }
  for (const auto& [name, value] : now.build_args()) {
    if (!then.build_args().contains(name)) NoteChange(words, "build argument " + name, "", value);
  }
  return words;
}

std::string DifferenceOf(const std::string& agent, const v1::TargetFacts& then,
                         const v1::TargetFacts& now, bool same_image) {
  std::string words;
  if (same_image) NoteChange(words, "image", then.image_digest(), now.image_digest());
  // What was built on: recorded by agents that built it.
  if (then.base_images_size() > 0 && now.base_images_size() > 0) {
    NoteChange(words, "base images", Joined(BasesInWords(then)), Joined(BasesInWords(now)));
  }
  NoteChange(words, "version", then.version(), now.version());
  NoteChange(words, "runtime", then.runtime(), now.runtime());
  NoteChange(words, "libraries", Joined(then.libraries()), Joined(now.libraries()));
  NoteChange(words, "TLS library", then.tls_library(), now.tls_library());
  NoteChange(words, "TLS groups", then.tls_groups(), now.tls_groups());
  NoteChange(words, "libc", then.libc(), now.libc());
  return words.empty() ? words : fmt::format("on {}: {}", agent, words);
}

}  // namespace fetchbench::coordinator
