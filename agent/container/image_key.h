#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// Which image a target's folder and build arguments make.
struct ImageKey {
  std::string repository;  // "fetchbench/rust-reqwest"
  std::string tag;         // first 16 digits of `digest`
  std::string digest;      // SHA-256 of the context's digest and the sorted arguments, 64 digits

  std::string Reference() const { return repository + ":" + tag; }
};

// InvalidArgument: a name, digest or argument that cannot be. Pure.
absl::StatusOr<ImageKey> KeyOf(const v1::TargetSpec& target);

}  // namespace fetchbench::agent
