#include "coordinator/run/fleet_facts.h"

#include <fmt/format.h>

namespace fetchbench::coordinator {
namespace {

// Else it could not be asked, and only its name and image are known.
bool Told(const v1::TargetFacts& facts) {
  return !facts.version().empty() || !facts.runtime().empty() || facts.libraries_size() > 0;
}

absl::Status OtherThanFleet(const std::string& agent, const std::string& what,
                            const std::string& its, const std::string& first,
                            const std::string& theirs) {
  return absl::FailedPreconditionError(fmt::format(
      "it is left out: {} of the target is {} on {}, and {} on {}, which runs it "
      "already; bring both to the same, and start the run again",
      what, its.empty() ? "unknown" : its, agent, theirs.empty() ? "unknown" : theirs, first));
}

}  // namespace

absl::Status FleetFacts::CheckEarlier(const std::string& agent,
                                      const v1::TargetFacts& facts) const {
  if (before_ == nullptr) return absl::OkStatus();
  const auto then = before_->facts.find(agent);
  if (then == before_->facts.end()) return absl::OkStatus();
  const std::string difference = DifferenceOf(agent, then->second, facts, named_);
  if (difference.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("the run can go on only with what it was begun with, but {}", difference));
}

absl::Status FleetFacts::Prepared(const std::string& agent, const v1::TargetFacts& facts) {
  if (absl::Status s = CheckEarlier(agent, facts); !s.ok()) return s;
  by_agent_[agent] = facts;
  return absl::OkStatus();
}

absl::Status FleetFacts::Started(const std::string& agent, const std::string& architecture,
                                 const v1::TargetFacts& facts) {
  const bool told = Told(facts);
  if (told) {
    if (absl::Status s = CheckEarlier(agent, facts); !s.ok()) return s;
    const auto known = by_agent_.find(agent);
    const std::string difference =
        known == by_agent_.end() ? "" : DifferenceOf(agent, known->second, facts, named_);
    if (!difference.empty()) {
      return absl::FailedPreconditionError(fmt::format(
          "it is left out: it came back with another target than it had in this run: {}",
          difference));
    }
  }
  const auto first = first_.find(architecture);
  if (first != first_.end()) {
    const v1::TargetFacts& theirs = by_agent_[first->second];
    if (facts.image_digest() != theirs.image_digest()) {
      return OtherThanFleet(agent, "the image", facts.image_digest(), first->second,
                            theirs.image_digest());
    }
    if (told && facts.version() != theirs.version()) {
      return OtherThanFleet(agent, "the version", facts.version(), first->second, theirs.version());
    }
  }
  if (told) {
    by_agent_[agent] = facts;
    first_.try_emplace(architecture, agent);
  }
  return absl::OkStatus();
}

}  // namespace fetchbench::coordinator
