#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "agent/leased_url.h"

namespace fetchbench::agent {

// Keeps an agent from asking one host more than `per_host` things at once: a URL whose host has so
// many open is held back here, and others go past it. It counts what the target was given and has
// not answered, so it holds for every target, whatever its threads do.
//
// The waiting set is bounded (kMaxHeldBack, kMaxHeldBackBytes). When it is full, URLs are given out
// in their order again: the first whose host has no room stops those behind it. That happens when
// what is left of a list is nearly all of a few hosts. Then the largest of them decides how long
// the run takes, at `per_host` at a time, and the coordinator lends the fullest partitions first;
// so what stands behind it does not end later than it would have.
//
// A list of one host is fetched `per_host` at a time, by one agent. A redirect to another host is
// made by the target, unseen from here: it counts for the host that was asked first.
//
// Pure; one thread.
class HostGate {
 public:
  static constexpr size_t kMaxHeldBack = 16'384;
  static constexpr size_t kMaxHeldBackBytes = 16 << 20;

  // 0: no limit; then nothing is counted and nothing held back.
  explicit HostGate(uint32_t per_host) : per_host_(per_host) {}

  // Whether the host of `url` has room; it then has one more open.
  bool Enter(std::string_view url);
  // Takes in what Enter refused; not when full().
  void HoldBack(LeasedUrl item);
  // One that was held back and whose host has room now; it is counted as open already.
  std::optional<LeasedUrl> Next();
  // A URL that had entered, by Enter or Next, is answered.
  void Leave(std::string_view url);
  // Empties the waiting set, in no order.
  std::list<LeasedUrl> TakeAll();

  bool full() const { return held_back_ >= kMaxHeldBack || held_bytes_ >= kMaxHeldBackBytes; }
  // Whose hosts have no room.
  size_t held_back() const { return held_back_; }
  // These, and those that Next will give.
  size_t size() const { return held_back_ + ready_.size(); }

 private:
  struct Host {
    uint32_t open = 0;
    std::list<LeasedUrl> held;  // only while `open` is at the limit
  };

  const uint32_t per_host_;
  absl::flat_hash_map<std::string, Host> hosts_;  // those with something open
  std::list<LeasedUrl> ready_;
  size_t held_back_ = 0;
  size_t held_bytes_ = 0;  // of the URLs held back
};

// The host of an absolute URL: lower case, without user, port and the brackets of IPv6. Pure. Like
// partitions, it takes "a.example" and "a.example." for two.
std::string HostOf(std::string_view url);

}  // namespace fetchbench::agent
