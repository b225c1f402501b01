#include "coordinator/prepare/prepare_fleet.h"

#include <fmt/format.h>

#include <boost/asio/steady_timer.hpp>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "common/all_of.h"
#include "coordinator/fleet/stop_look_up.h"

namespace fetchbench::coordinator {
namespace {

// Agents that an image is sent to at once: each of them gets a share of the link, and one that gets
// too little takes the coordinator for dead.
constexpr int kSendsAtOnce = 8;

using Facts = absl::StatusOr<v1::TargetFacts>;
using Last = absl::StatusOr<v1::PrepareProgress>;

Facts FactsOf(Last last) {
  if (!last.ok()) return last.status();
  return std::move(*last->mutable_facts());
}

Task<> LookInto(const FleetCall& call, size_t index, Facts& result,
                std::optional<ImageSighting>& sighting) {
  absl::StatusOr<ImageSighting> seen = co_await LookForImage(call, index);
  if (seen.ok()) {
    sighting = *std::move(seen);
  } else {
    result = seen.status();
  }
}

Task<> PrepareInto(Facts& result, const FleetCall& call, size_t index) {
  Last last = co_await PrepareAgent(call, index, PrepareWish());
  result = FactsOf(std::move(last));
}

// The agents of one architecture.
class Group {
 public:
  Group(const FleetCall& call, std::vector<ImageSighting> agents, const std::string& earlier_id,
        std::vector<Facts>& results)
      : call_(call), plan_(std::move(agents), earlier_id), results_(results) {
    for (const ImageSighting& s : plan_.agents()) {
      results_[s.agent] = absl::CancelledError("stopped by the user");
    }
  }

  Task<> Prepare() {
    while (!call_.events.stopped()) {
      std::optional<size_t> builder;
      if (plan_.id().empty()) {
        builder = plan_.NextBuilder();
        if (!builder) {
          GiveUp();
          co_return;
        }
        const bool built = co_await Build(*builder);
        if (!built) continue;
      }
      const bool whole = co_await Ship(builder);
      if (whole) co_return;
      plan_.Lost();
    }
  }

  // See ImageCourier.
  const std::shared_ptr<const ImageArchive>& archive() const { return archive_; }

 private:
  const std::string& Name(size_t agent) const { return call_.endpoints[agent].shown(); }

  Task<bool> Build(size_t builder) {
    for (const ImageSighting& s : plan_.agents()) {
      if (s.agent == builder) continue;
      call_.Tell(s.agent, fmt::format("waiting for the image of agent {}", Name(builder)));
    }
    Last last = co_await PrepareAgent(call_, builder, PrepareWish());
    results_[builder] = FactsOf(std::move(last));
    const Facts& facts = results_[builder];
    if (facts.ok()) {
      plan_.Built(builder, facts->image_digest());
      co_return true;
    }
    tried_[builder] = std::string(facts.status().message());
    last_trouble_ = facts.status();
    co_return false;
  }

  // False: no agent hands the image out.
  Task<bool> Ship(std::optional<size_t> builder) {
    ImageCourier courier(call_, plan_);
    std::vector<Task<>> tasks;
    for (const ImageSighting& s : plan_.agents()) {
      if (s.agent != builder) tasks.push_back(PrepareSame(s.agent, courier));
    }
    co_await AllOf(call_.loop, std::move(tasks));
    archive_ = courier.archive();
    co_return !courier.lost() || call_.events.stopped();
  }

  // With the fleet's image, and no other.
  Task<> PrepareSame(size_t agent, ImageCourier& courier) {
    const bool lacks = plan_.Lacks(agent);
    if (lacks) {
      net::steady_timer pause(call_.loop);
      while (sending_ >= kSendsAtOnce && !call_.events.stopped()) {
        pause.expires_after(kStopLookUp);
        co_await pause.async_wait(kAsTuple);
      }
      ++sending_;
    }
    PrepareWish wish;
    wish.image_id = plan_.id();
    wish.courier = &courier;
    Last last = co_await PrepareAgent(call_, agent, std::move(wish));
    if (lacks) --sending_;
    results_[agent] = FactsOf(std::move(last));
  }

  // Nobody is left to build: those that have not tried are told why.
  void GiveUp() {
    std::string words;
    for (const auto& [agent, why] : tried_) {
      words += fmt::format("{}agent {}: {}", words.empty() ? "" : "; ", Name(agent), why);
    }
    for (const ImageSighting& s : plan_.agents()) {
      if (tried_.contains(s.agent) || !absl::IsCancelled(results_[s.agent].status())) continue;
      // Of the builder's own code, unless that would say that this agent cannot be reached.
      const absl::StatusCode code = absl::IsUnavailable(last_trouble_)
                                        ? absl::StatusCode::kFailedPrecondition
                                        : last_trouble_.code();
      results_[s.agent] = absl::Status(code, "there is no image for it: " + words);
    }
  }

  const FleetCall& call_;
  ImagePlan plan_;
  std::vector<Facts>& results_;
  std::shared_ptr<const ImageArchive> archive_;
  std::map<size_t, std::string> tried_;  // who failed to build, and why
  absl::Status last_trouble_;
  int sending_ = 0;
};

absl::Status CheckOneImage(const FleetCall& call, const std::vector<ImageSighting>& agents,
                           const std::vector<Facts>& results) {
  const ImageSighting* first = nullptr;
  for (const ImageSighting& s : agents) {
    if (!results[s.agent].ok()) continue;
    if (first == nullptr) first = &s;
    const std::string& one = results[first->agent]->image_digest();
    const std::string& other = results[s.agent]->image_digest();
    if (one == other) continue;
    const std::string& reference = call.plan.spec.image();
    return absl::FailedPreconditionError(fmt::format(
        "agents {} and {} have different images of {}: {} and {}; {}",
        call.endpoints[first->agent].shown(), call.endpoints[s.agent].shown(),
        reference.empty() ? "target " + call.plan.spec.name() : reference, one, other,
        reference.empty()
            ? std::string("start the run again, or remove one of them")
            : fmt::format("bring one to all hosts with bin/provision --image {}", reference)));
  }
  return absl::OkStatus();
}

using Groups = std::map<std::string, std::vector<ImageSighting>>;

// Asks all agents which image they have; those that cannot tell are out.
Task<Groups> LookAround(const FleetCall& call, std::vector<Facts>& results) {
  std::vector<std::optional<ImageSighting>> sightings(call.endpoints.size());
  std::vector<Task<>> tasks;
  for (size_t i = 0; i < call.endpoints.size(); ++i) {
    tasks.push_back(LookInto(call, i, results[i], sightings[i]));
  }
  co_await AllOf(call.loop, std::move(tasks));
  Groups groups;
  for (std::optional<ImageSighting>& s : sightings) {
    if (!s) continue;
    std::vector<ImageSighting>& group = groups[s->architecture];
    group.push_back(*std::move(s));
  }
  co_return groups;
}

// What the agents of one architecture have in the end; those that are not ready aside.
void NoteImage(const std::vector<ImageSighting>& agents, const std::vector<Facts>& results,
               FleetImage& image) {
  for (ImageSighting s : agents) {
    if (!results[s.agent].ok()) continue;
    s.image_id = results[s.agent]->image_digest();
    if (image.id.empty()) image.id = s.image_id;
    if (s.image_id == image.id) image.holders.push_back(std::move(s));
  }
}

}  // namespace

Task<absl::StatusOr<ImageSighting>> LookForImage(const FleetCall& call, size_t agent) {
  PrepareWish wish;
  wish.look = true;
  Last last = co_await PrepareAgent(call, agent, wish);
  if (!last.ok()) co_return last.status();
  const auto earlier = call.earlier_ids.find(last->found().architecture());
  if (earlier != call.earlier_ids.end() && earlier->second != last->found().image_id() &&
      call.plan.context != nullptr) {
    // It may have lost its name.
    wish.image_id = earlier->second;
    Last again = co_await PrepareAgent(call, agent, wish);
    if (again.ok()) last = std::move(again);
  }
  const v1::ImageFound& found = last->found();
  co_return ImageSighting{agent, found.architecture(), found.image_id(), found.image_bytes()};
}

Task<FleetPrepared> PrepareFleet(const FleetCall& call) {
  FleetPrepared prepared;
  prepared.agents.assign(call.endpoints.size(), absl::InternalError("a bug ended the preparation"));
  std::vector<Facts>& results = prepared.agents;
  const bool shipped = call.plan.context != nullptr;
  const bool container = shipped || !call.plan.spec.image().empty();
  Groups groups;
  if (container) groups = co_await LookAround(call, results);
  std::vector<Task<>> tasks;
  std::map<std::string, std::unique_ptr<Group>> parts;
  for (size_t i = 0; !container && i < results.size(); ++i) {
    tasks.push_back(PrepareInto(results[i], call, i));
  }
  for (const auto& [architecture, agents] : groups) {
    if (shipped) {
      const auto earlier = call.earlier_ids.find(architecture);
      auto& part = parts[architecture];
      part = std::make_unique<Group>(
          call, agents, earlier == call.earlier_ids.end() ? std::string() : earlier->second,
          results);
      tasks.push_back(part->Prepare());
      continue;
    }
    for (const ImageSighting& s : agents) {
      tasks.push_back(PrepareInto(results[s.agent], call, s.agent));
    }
  }
  co_await AllOf(call.loop, std::move(tasks));
  for (const auto& [architecture, agents] : groups) {
    if (prepared.one_image.ok()) prepared.one_image = CheckOneImage(call, agents, results);
    FleetImage image;
    NoteImage(agents, results, image);
    if (shipped) image.archive = parts[architecture]->archive();
    if (!image.id.empty()) prepared.images[architecture] = std::move(image);
  }
  co_return prepared;
}

}  // namespace fetchbench::coordinator
