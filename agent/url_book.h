#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "agent/host_gate.h"
#include "agent/leased_url.h"
#include "common/url_cost.h"
#include "fetchbench/v1/agent.pb.h"

namespace fetchbench::agent {

// What an agent holds at most, whatever the coordinator sends.
inline constexpr size_t kMaxHeldUrls = 262'144;
inline constexpr size_t kMaxHeldBytes = 128 << 20;  // by UrlCost
// Twice what a list may have.
inline constexpr size_t kMaxUrlBytes = 128 << 10;
// With those whose records are not acknowledged.
inline constexpr uint64_t kMaxUncommittedUrls = 1 << 20;
inline constexpr int kMaxLeaseUrls = 65'536;
// What part of the agent's memory limit the URLs that it holds may be. The rest is for the daemon
// itself (25 MiB), records without an acknowledgement, and each URL's text once or twice more: on
// its way in, and in what the allocator has free between others. With 64 MiB and URLs of 60 kB the
// agent had 52 MiB at most.
inline constexpr uint64_t kUrlShareOfMemory = 4;

// How much an agent with that memory limit (0: none) asks for: what it grants.
constexpr uint64_t HeldBytesWithin(uint64_t memory_limit) {
  if (memory_limit == 0) return kMaxHeldBytes;
  return std::min<uint64_t>(kMaxHeldBytes, memory_limit / kUrlShareOfMemory);
}

// A URL that the target was given and has not answered.
struct OpenUrl {
  LeasedUrl leased;
  int64_t fed_us = 0;  // UTC
};

// The URLs lent to this agent: waiting, then open (given to the target), then closed by a record,
// and the lease is held until all its records are acknowledged. Pure; one thread.
class UrlBook {
 public:
  struct Closed {
    uint64_t index = 0;
    uint64_t lease_id = 0;
  };

  // `per_host`: how many URLs of one host are open at once; 0: no limit. See HostGate.
  // `granted_bytes`: how much of them a coordinator is asked for at a time; it may be above by a
  // URL.
  explicit UrlBook(uint32_t per_host = 0, uint64_t granted_bytes = kMaxHeldBytes)
      : max_bytes_(granted_bytes + UrlCost(kMaxUrlBytes)), gate_(per_host) {}

  // Takes a lease over. An index that is held under an earlier lease is left to that one: so a
  // coordinator lends again what it had taken back from an agent that was away, and that goes on
  // with it. URLs that cannot be written as one line of the target's input (empty, line breaks or
  // NUL inside, too long) are not kept but put into `unfeedable`. InvalidArgument or
  // ResourceExhausted: the lease breaks the protocol; it may have been taken in part, and the run
  // should end.
  absl::Status Add(v1::Lease lease, std::vector<LeasedUrl>& unfeedable);

  // Moves up to `max_urls` waiting URLs to open, as lines at the end of `lines`, which may grow
  // beyond `max_bytes` by one URL. Returns how many: none though some wait when their hosts have no
  // room.
  size_t TakeForFeeding(size_t max_urls, size_t max_bytes, int64_t now_us, std::string& lines);

  // The oldest open entry with this URL; nullopt when none is open.
  std::optional<Closed> Close(std::string_view url);

  // Closes all that is open, oldest first.
  std::vector<OpenUrl> CloseAll();

  // Forgets what waits: those URLs will have no record here. Returns how many.
  size_t DropWaiting();

  // `count` records of the lease are acknowledged.
  void Commit(uint64_t lease_id, uint64_t count);

  size_t waiting() const { return waiting_.size() + gate_.size(); }
  // Of those that wait: whose hosts have no room.
  size_t held_back() const { return gate_.held_back(); }
  size_t open() const { return open_count_; }
  size_t held() const { return waiting() + open(); }
  uint64_t held_bytes() const { return held_bytes_; }  // by UrlCost
  std::vector<uint64_t> HeldLeases() const;

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Slot {
    OpenUrl entry;
    uint32_t next_same = kNone;  // the next entry with the same URL, in feeding order
    bool used = false;
  };
  struct Chain {
    uint32_t head = kNone;
    uint32_t tail = kNone;
  };

  absl::Status Keep(LeasedUrl item);
  bool IsHeld(uint64_t index) const { return indices_.contains(index); }
  std::optional<LeasedUrl> NextToOpen();
  void Forget(const LeasedUrl& item);
  void Open(LeasedUrl item, int64_t now_us);
  LeasedUrl Free(uint32_t slot);

  const uint64_t max_bytes_;
  std::deque<LeasedUrl> waiting_;
  HostGate gate_;
  std::deque<Slot> slots_;  // a deque: the map's keys look into its strings
  std::vector<uint32_t> free_slots_;
  absl::flat_hash_map<std::string_view, Chain> by_url_;  // key: the URL of the chain's head
  absl::flat_hash_set<uint64_t> indices_;                // waiting or open
  absl::flat_hash_map<uint64_t, uint64_t>
      uncommitted_;                // lease id -> URLs without an acknowledged record
  uint64_t uncommitted_urls_ = 0;  // their sum
  size_t open_count_ = 0;
  uint64_t held_bytes_ = 0;
};

}  // namespace fetchbench::agent
