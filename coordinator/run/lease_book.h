#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/clock.h"
#include "coordinator/input/url_chunk.h"
#include "coordinator/run/index_set.h"

namespace fetchbench::coordinator {

using AgentIndex = uint32_t;  // position in the run's list of agents

// URLs lent to one agent, out of one partition.
struct Lease {
  uint64_t id = 0;
  std::shared_ptr<const UrlChunk> chunk;
  std::vector<uint32_t> entries;  // which URLs of the chunk, ascending
};

enum class Verdict : uint8_t {
  kFirst,      // store it
  kDuplicate,  // this index has its record already: drop it
  kUnknown,    // never lent to that agent: refuse it
};

struct Accepted {
  Verdict verdict = Verdict::kUnknown;
  std::string_view url;  // with kFirst; valid until the next call
};

// Where the URLs are. in_spool + waiting + lent + recorded == total, always.
struct LeaseCounts {
  uint64_t total = 0;
  uint64_t recorded = 0;
  uint64_t in_spool = 0;
  uint64_t waiting = 0;  // in memory, lent to nobody
  uint64_t lent = 0;
  uint64_t duplicates = 0;  // records dropped
  uint64_t unknown = 0;     // records refused
  uint64_t taken_back = 0;  // URLs whose lease was taken back from an agent
  uint64_t lent_again = 0;  // URLs lent once more after that

  bool Balanced() const { return in_spool + waiting + lent + recorded == total; }
};

// Who has which URL, and which URLs have a record: the ledger of a run.
//
// Rules: a partition is lent to one agent at a time; an agent that stays away for `grace` loses its
// leases, and their URLs go to others; the first record of an index wins; an index that was never
// lent to an agent is not taken from it. Records of an agent whose lease was taken back are still
// taken if they are the first.
//
// Pure: time comes in, URLs come from `source`. Memory: the URLs in lent and waiting leases (at
// most kMaxHeldBytes of text, or one lease an agent) and one bit for each URL of the run. Not
// thread-safe.
class LeaseBook {
 public:
  // Beyond so many bytes of URL text in memory, an agent that holds something gets nothing more.
  static constexpr uint64_t kMaxHeldBytes = uint64_t{64} << 20;

  // The next chunk of a partition; null when there is none.
  using ChunkSource =
      std::function<absl::StatusOr<std::shared_ptr<const UrlChunk>>(uint32_t partition)>;

  // `total` indices, of which `recorded` (the invalid ones) have their record; the others are in
  // `source`, as many in each partition as `remaining` says. `known`: those that an earlier session
  // recorded, none of which is lent though `source` may still have it.
  LeaseBook(uint64_t total, uint64_t recorded, const std::vector<uint64_t>& remaining,
            uint32_t agents, SteadyTime::duration grace, ChunkSource source,
            IndexSet known = IndexSet());

  // A lease for an agent that is here, of at most `wanted` (> 0) URLs that come to `bytes` at most
  // (by UrlCost; empty: whatever they come to); an agent that holds nothing gets one of any length.
  // Empty when there is nothing for it now. Prefers partitions nobody holds, the fullest first.
  // Fails when the source does.
  absl::StatusOr<std::optional<Lease>> Lend(AgentIndex agent, size_t wanted,
                                            std::optional<int64_t> bytes = std::nullopt);

  Accepted Accept(AgentIndex agent, uint64_t index);

  // The agent's stream broke; its grace begins unless it runs already.
  void AgentAway(AgentIndex agent, SteadyTime now);
  // It is back and works on `held` only: its other leases are taken back at once.
  void AgentBack(AgentIndex agent, const absl::flat_hash_set<uint64_t>& held);
  // It will not come back: takes its leases back now.
  void AgentGone(AgentIndex agent);
  // Takes back the leases of agents whose grace is over; returns those agents, each once.
  std::vector<AgentIndex> Tick(SteadyTime now);

  bool AllRecorded() const { return counts_.recorded == counts_.total; }
  const LeaseCounts& counts() const { return counts_; }
  uint64_t LentTo(AgentIndex agent) const { return agents_[agent].lent_urls; }
  // URLs that were taken back from it.
  uint64_t TakenFrom(AgentIndex agent) const { return agents_[agent].taken_back; }
  // Who holds a partition; empty: nobody.
  std::optional<AgentIndex> Holder(uint32_t partition) const;

 private:
  static constexpr AgentIndex kNobody = ~AgentIndex{0};

  // Some URLs of one chunk that are in memory: lent under `lease`, or waiting.
  struct Part {
    std::shared_ptr<const UrlChunk> chunk;
    std::vector<uint32_t> entries;  // at lending time; those with a record since are not removed
    uint32_t left = 0;              // without a record
    uint64_t lease = 0;             // 0: waiting
    AgentIndex agent = kNobody;     // holder now
    std::vector<AgentIndex> past_agents;
  };
  using PartIterator = std::list<Part>::iterator;

  struct Partition {
    uint64_t remaining = 0;  // in the source
    uint32_t lent_parts = 0;
    AgentIndex holder = kNobody;
    std::vector<PartIterator> waiting;
  };

  struct Place {
    PartIterator part;
    uint32_t entry;
  };

  // Partitions that have something to lend, by owner: those with waiting parts first, then by how
  // much they have left.
  using WorkKey = std::pair<uint64_t, uint32_t>;
  struct Agent {
    std::set<WorkKey> work;
    absl::flat_hash_map<uint64_t, PartIterator> leases;
    std::optional<SteadyTime> away_since;
    bool expired = false;
    uint64_t lent_urls = 0;
    uint64_t taken_back = 0;
  };

  static WorkKey KeyOf(const Partition& partition, uint32_t number);
  std::set<WorkKey>& WorkOf(AgentIndex owner);
  void Unfile(uint32_t partition);
  void File(uint32_t partition);
  absl::StatusOr<PartIterator> FirstPart(uint32_t partition);
  Lease LendPart(AgentIndex agent, PartIterator part, size_t wanted);
  size_t Fitting(PartIterator part, size_t wanted, std::optional<int64_t> bytes, bool any) const;
  void SplitPart(PartIterator part, size_t wanted);
  void TakeBack(PartIterator part);
  void TakeBackAll(AgentIndex agent);
  void ClosePart(PartIterator part);
  void ReleaseHold(uint32_t partition);
  absl::StatusOr<std::optional<Part>> NextPart(Partition& partition, uint32_t number);

  ChunkSource source_;
  SteadyTime::duration grace_;
  std::vector<Partition> partitions_;
  std::vector<Agent> agents_;
  std::set<WorkKey> free_work_;
  std::list<Part> parts_;
  absl::flat_hash_map<uint64_t, Place> places_;  // of every URL in memory without a record
  IndexSet recorded_;
  LeaseCounts counts_;
  uint64_t held_bytes_ = 0;
  std::shared_ptr<const UrlChunk> last_closed_;  // keeps the URL alive that Accept returned
  uint64_t next_lease_ = 1;
};

}  // namespace fetchbench::coordinator
