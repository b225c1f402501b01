#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "common/docker/engine_client.h"
#include "common/docker/engine_json.h"
#include "common/net.h"

namespace fetchbench::docker {

// Images are made anew whenever what is in them changes. Of one repository so many stay, the
// current one among them: people go back and forth between versions.
inline constexpr size_t kKeptImages = 4;
// One that was made or tagged since may be one that another program on this host is about to use.
// Whoever finds an image that it is going to use tags it again.
inline constexpr std::chrono::seconds kKeptImageAge{3'600};
// Removing takes time that somebody waits for; the next call goes on.
inline constexpr size_t kRemovedAtOnce = 8;

// Which of a repository's references can go, oldest first. `current` stays, and so do the newest
// others and what is young. Pure.
std::vector<std::string> SupersededImages(const std::vector<ImageSummary>& images,
                                          const std::string& current, std::chrono::seconds now);

// Since the Unix epoch.
std::chrono::seconds WallNow();

// Removes them, but for those that were tagged of late; the Engine itself keeps those that a
// container uses. Nobody needs it to succeed: what goes wrong is logged. `current` is
// "repository:tag".
Task<> RemoveSupersededImages(EngineClient client, std::string repository, std::string current,
                              std::chrono::seconds now);

}  // namespace fetchbench::docker
