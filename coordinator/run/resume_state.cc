#include "coordinator/run/resume_state.h"

#include <fmt/format.h>
#include <google/protobuf/util/json_util.h>

#include <boost/json.hpp>
#include <chrono>
#include <exception>

#include "coordinator/summary/disturbance_json.h"

namespace fetchbench::coordinator {
namespace {

namespace json = boost::json;

// Of this file's form.
constexpr int kForm = 2;  // 2: image ids, and whom earlier sessions lost

template <typename Message>
std::string MessageText(const Message& message) {
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text);
  return status.ok() ? text : "{}";
}

template <typename Message>
Message MessageOf(const json::value& value) {
  Message message;
  const auto status = google::protobuf::util::JsonStringToMessage(
      std::string(value.as_string()), &message, google::protobuf::util::JsonParseOptions());
  if (!status.ok()) throw std::invalid_argument("a message in it cannot be read");
  return message;
}

json::array AgentsJson(const std::vector<AgentEndpoint>& agents) {
  json::array array;
  for (const AgentEndpoint& agent : agents) array.emplace_back(EndpointText(agent));
  return array;
}

std::vector<AgentEndpoint> AgentsOf(const json::array& array) {
  std::vector<AgentEndpoint> agents;
  for (const json::value& text : array) {
    auto agent = ParseAgentEndpoint(std::string_view(text.as_string()));
    if (!agent.ok()) throw std::invalid_argument(std::string(agent.status().message()));
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

std::string TextOf(const json::object& object, std::string_view name) {
  return std::string(object.at(name).as_string());
}

template <typename Number>
Number NumberOf(const json::object& object, std::string_view name) {
  return object.at(name).to_number<Number>();
}

template <typename Duration>
Duration DurationOf(const json::object& object, std::string_view name) {
  return Duration(NumberOf<int64_t>(object, name));
}

RunOptions OptionsOf(const json::object& o, const TargetRegistry& targets) {
  RunOptions options;
  const std::string target = TextOf(o, "target");
  const TargetInfo* known = targets.Find(target);
  if (known == nullptr) {
    throw std::invalid_argument(fmt::format("its target {} is not there any more", target));
  }
  options.target = *known;
  options.urls = TextOf(o, "urls");
  options.agents = AgentsOf(o.at("agents").as_array());
  options.credentials.named = TextOf(o, "credentials");
  options.web = TextOf(o, "web") == "sim" ? Web::kSim : Web::kInternet;
  options.profile = TextOf(o, "profile");
  options.origin = TextOf(o, "origin");
  options.concurrency = NumberOf<uint32_t>(o, "concurrency");
  options.per_host = NumberOf<uint32_t>(o, "per_host");
  options.limit = NumberOf<uint64_t>(o, "limit");
  options.duration = DurationOf<std::chrono::microseconds>(o, "duration_us");
  options.timeout = DurationOf<std::chrono::milliseconds>(o, "timeout_ms");
  options.user_agent = TextOf(o, "user_agent");
  options.seed = NumberOf<uint64_t>(o, "seed");
  options.allow_private = o.at("allow_private").as_bool();
  options.max_body_bytes = NumberOf<uint64_t>(o, "max_body_bytes");
  options.threads = NumberOf<uint32_t>(o, "threads");
  options.grace = DurationOf<std::chrono::milliseconds>(o, "grace_ms");
  options.silence = DurationOf<std::chrono::milliseconds>(o, "silence_ms");
  options.give_up_after = DurationOf<std::chrono::milliseconds>(o, "give_up_after_ms");
  options.connect_timeout = DurationOf<std::chrono::milliseconds>(o, "connect_timeout_ms");
  options.image = TextOf(o, "image");
  options.cpu_permille = NumberOf<uint32_t>(o, "cpu_permille");
  options.cpuset = TextOf(o, "cpuset");
  options.memory_bytes = NumberOf<uint64_t>(o, "memory_bytes");
  options.build_arguments = json::value_to<BuildArguments>(o.at("build_arguments"));
  options.base_images = TextOf(o, "base_images");
  options.base_images_must_exist = o.at("base_images_must_exist").as_bool();
  return options;
}

json::array PausesJson(const std::vector<Pause>& pauses) {
  json::array array;
  for (const Pause& pause : pauses) {
    array.push_back(json::object{{"from_us", pause.from_us}, {"until_us", pause.until_us}});
  }
  return array;
}

std::vector<Disturbance> DisturbancesOf(const json::array& array) {
  std::vector<Disturbance> disturbances;
  for (const json::value& value : array) {
    const json::object& d = value.as_object();
    disturbances.push_back({TextOf(d, "name"), d.at("lost").as_bool(),
                            NumberOf<uint32_t>(d, "reconnects"),
                            NumberOf<uint64_t>(d, "urls_moved"), TextOf(d, "trouble")});
  }
  return disturbances;
}

ResumeState StateOf(const json::object& o, const TargetRegistry& targets) {
  ResumeState s;
  s.version = TextOf(o, "fetchbench");
  s.identity.run_id = TextOf(o, "run_id");
  s.identity.started_us = NumberOf<int64_t>(o, "started_us");
  s.identity.list_name = TextOf(o, "list");
  s.options = OptionsOf(o.at("options").as_object(), targets);
  s.list_loaded = o.at("list_loaded").as_bool();
  s.urls = NumberOf<uint64_t>(o, "urls");
  s.invalid = NumberOf<uint64_t>(o, "invalid");
  s.target = MessageOf<v1::TargetSpec>(o.at("target"));
  for (const auto& [name, facts] : o.at("facts").as_object()) {
    s.facts[std::string(name)] = MessageOf<v1::TargetFacts>(facts);
  }
  for (const auto& [architecture, id] : o.at("image_ids").as_object()) {
    s.image_ids[std::string(architecture)] = std::string(id.as_string());
  }
  s.profile_sha256 = TextOf(o, "profile_sha256");
  s.sessions = NumberOf<uint32_t>(o, "sessions");
  for (const json::value& pause : o.at("pauses").as_array()) {
    const json::object& p = pause.as_object();
    s.pauses.push_back({NumberOf<int64_t>(p, "from_us"), NumberOf<int64_t>(p, "until_us")});
  }
  s.fed_since_us = NumberOf<int64_t>(o, "fed_since_us");
  s.fed_us = NumberOf<int64_t>(o, "fed_us");
  s.down_since_us = NumberOf<int64_t>(o, "down_since_us");
  s.end = TextOf(o, "end");
  s.ended_us = NumberOf<int64_t>(o, "ended_us");
  s.disturbed = DisturbancesOf(o.at("disturbed").as_array());
  s.disturbed_earlier = DisturbancesOf(o.at("disturbed_earlier").as_array());
  s.duplicates_dropped = NumberOf<uint64_t>(o, "duplicates_dropped");
  s.requested_again = NumberOf<uint64_t>(o, "requested_again");
  return s;
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
  if (error || !value.is_object()) return absl::DataLossError("it is not a JSON object");
  const json::object& object = value.get_object();
  const json::value* form = object.if_contains("form");
  const json::value* version = object.if_contains("fetchbench");
  const bool ours = form != nullptr && *form == kForm && version != nullptr &&
                    version->is_string() && version->get_string() == FETCHBENCH_VERSION;
  if (!ours) {
    return absl::FailedPreconditionError(fmt::format(
        "fetchbench {} in form {} wrote it, this is " FETCHBENCH_VERSION
        " in form {}: go on with the build that it was begun with",
        version != nullptr && version->is_string() ? std::string(version->get_string()) : "?",
        form != nullptr && form->is_int64() ? form->get_int64() : 0, kForm));
  }
  try {
    return StateOf(object, targets);
  } catch (const std::exception& e) {
    return absl::DataLossError(e.what());
  }
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
