#include "agent/native_facts.h"

#include <utility>

#include "agent/target_facts.h"

namespace fetchbench::agent {

std::optional<v1::TargetFacts> NativeFacts::Known() const {
  struct stat info {};
  if (!last_ || stat(config_.native_path.c_str(), &info) != 0) return std::nullopt;
  const bool same = last_->changed.tv_sec == info.st_mtim.tv_sec &&
                    last_->changed.tv_nsec == info.st_mtim.tv_nsec;
  return same ? std::optional(last_->facts) : std::nullopt;
}

Task<absl::StatusOr<v1::TargetFacts>> NativeFacts::Ask(std::function<bool()> stopping) {
  if (std::optional<v1::TargetFacts> known = Known()) co_return *std::move(known);
  struct stat info {};
  stat(config_.native_path.c_str(), &info);  // before it runs: a change meanwhile shows next time
  absl::StatusOr<v1::TargetFacts> facts =
      co_await DescribeChild(loop_, config_.native_path, config_.child_cpus,
                             config_.describe_patience, std::move(stopping));
  if (!facts.ok()) co_return facts.status();
  last_ = Answer{info.st_mtim, *facts};
  co_return std::move(facts);
}

}  // namespace fetchbench::agent
