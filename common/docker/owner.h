#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace fetchbench::docker {

// Label of every container and network of ours; its value tells which process made it.
inline constexpr std::string_view kOwnerLabel = "fetchbench.agent";
// Label with the run's id, for people and for clean-up.
inline constexpr std::string_view kRunLabel = "fetchbench.run";

// A process that no other can be mistaken for: process numbers come again after an end or a boot.
struct Owner {
  pid_t pid = -1;
  uint64_t start_ticks = 0;    // since boot
  std::string boot_id;         // without dashes
  uint64_t pid_namespace = 0;  // inode

  // "PID-TICKS-BOOTID-NAMESPACE"; fits a label, a file name and a cgroup's name.
  std::string Text() const;
};

Owner ThisProcess();

enum class OwnerState { kAlive, kGone, kUnknown };

// Whether the process of a label's value still lives. Unknown: not such a value, or of another
// process namespace, where we cannot see.
OwnerState StateOf(std::string_view text);

// Removes the temporary folders of processes that are gone: those of a name that begins with
// `prefix`, then such a text, then nothing or a dot and anything. As far as that is possible.
void RemoveFoldersOfTheGone(std::string_view prefix);

}  // namespace fetchbench::docker
