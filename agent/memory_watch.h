#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <thread>

#include "agent/memory_mark.h"
#include "common/fd.h"
#include "common/stop_event.h"

namespace fetchbench::agent {

// What a MemoryWatch does, on its thread: none may block, because it looks at nothing meanwhile,
// and what they refer to outlives the watch. `drop_run` may be carried out later, by another
// thread.
// `bytes`: the memory that the daemon has.
struct MemoryActions {
  std::function<size_t(uint64_t bytes)> hang_up;  // on everybody; how many they were
  std::function<void()> let_in;
  std::function<void(uint64_t bytes)> drop_run;
  std::function<void()> give_up;  // end the process, so that it is started afresh
};

// Keeps the daemon's memory to a limit, whatever its peers send. gRPC bounds each message, but not
// what all of them come to, and 1.51 not even the headers of one call (CVE-2023-33953); so its
// resident memory is looked at, and above the limit everybody is hung up on: with the connections
// goes what was gathered for them. A run that goes on is taken up again by its coordinator. It has
// a thread of its own, because those that it watches may be busy.
class MemoryWatch {
 public:
  // So often that what comes in meanwhile is a small part of the limit: 600 MB/s were seen.
  static constexpr std::chrono::milliseconds kInterval{20};

  // `limit_bytes`: above 0.
  MemoryWatch(uint64_t limit_bytes, MemoryPatience patience, MemoryActions actions);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

 private:
  void Run();
  void Look();
  std::optional<uint64_t> ResidentBytes() const;

  MemoryMark mark_;
  const MemoryActions actions_;
  const uint64_t page_bytes_;
  const Fd statm_;  // kept open: there may be no descriptor when it is needed
  StopEvent stop_;
  bool blind_ = false;  // and has said so
  std::thread thread_;
};

}  // namespace fetchbench::agent
