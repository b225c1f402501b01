#include "coordinator/run/lease_book.h"

#include <algorithm>

#include "common/url_cost.h"

namespace fetchbench::coordinator {

LeaseBook::LeaseBook(uint64_t total, uint64_t recorded, const std::vector<uint64_t>& remaining,
                     uint32_t agents, SteadyTime::duration grace, ChunkSource source,
                     IndexSet known)
    : source_(std::move(source)),
      grace_(grace),
      partitions_(remaining.size()),
      agents_(agents),
      recorded_(known.size() == total ? std::move(known) : IndexSet(total)) {
  counts_.total = total;
  counts_.recorded = recorded;
  for (uint32_t p = 0; p < partitions_.size(); ++p) {
    partitions_[p].remaining = remaining[p];
    counts_.in_spool += remaining[p];
    File(p);
  }
}

LeaseBook::WorkKey LeaseBook::KeyOf(const Partition& partition, uint32_t number) {
  constexpr uint64_t kWaitingFirst = uint64_t{1} << 63;
  return {partition.remaining | (partition.waiting.empty() ? 0 : kWaitingFirst), number};
}

std::set<LeaseBook::WorkKey>& LeaseBook::WorkOf(AgentIndex owner) {
  return owner == kNobody ? free_work_ : agents_[owner].work;
}

// A partition's key depends on its state: it is unfiled before each change and filed after it.
void LeaseBook::Unfile(uint32_t partition) {
  const Partition& p = partitions_[partition];
  WorkOf(p.holder).erase(KeyOf(p, partition));
}

void LeaseBook::File(uint32_t partition) {
  const Partition& p = partitions_[partition];
  if (p.remaining > 0 || !p.waiting.empty()) WorkOf(p.holder).insert(KeyOf(p, partition));
}

std::optional<AgentIndex> LeaseBook::Holder(uint32_t partition) const {
  const AgentIndex holder = partitions_[partition].holder;
  return holder == kNobody ? std::nullopt : std::optional(holder);
}

// What the next chunk of the source has that is not recorded; empty when that is nothing.
absl::StatusOr<std::optional<LeaseBook::Part>> LeaseBook::NextPart(Partition& partition,
                                                                   uint32_t number) {
  auto chunk = source_(number);
  if (!chunk.ok()) return chunk.status();
  Part part;
  part.chunk = *std::move(chunk);
  for (uint32_t i = 0; part.chunk != nullptr && i < part.chunk->size(); ++i) {
    if (!recorded_.Contains(part.chunk->indices[i])) part.entries.push_back(i);
  }
  if (part.chunk == nullptr || part.entries.size() > partition.remaining) {
    return absl::InternalError("the URL spool and its counts disagree");
  }
  part.left = static_cast<uint32_t>(part.entries.size());
  if (part.left == 0) return std::nullopt;
  return part;
}

// A waiting part of the partition, read from the source when none is in memory.
absl::StatusOr<LeaseBook::PartIterator> LeaseBook::FirstPart(uint32_t partition) {
  Partition& p = partitions_[partition];
  if (!p.waiting.empty()) {
    const PartIterator part = p.waiting.back();
    p.waiting.pop_back();
    return part;
  }
  auto next = NextPart(p, partition);
  while (next.ok() && !next->has_value()) next = NextPart(p, partition);
  if (!next.ok()) return next.status();
  const PartIterator it = parts_.insert(parts_.end(), **std::move(next));
  for (const uint32_t e : it->entries) places_[it->chunk->indices[e]] = {it, e};
  p.remaining -= it->left;
  counts_.in_spool -= it->left;
  counts_.waiting += it->left;
  held_bytes_ += it->chunk->Bytes();
  return it;
}

absl::StatusOr<std::optional<Lease>> LeaseBook::Lend(AgentIndex agent, size_t wanted,
                                                     std::optional<int64_t> bytes) {
  Agent& a = agents_[agent];
  const bool idle = a.lent_urls == 0;
  const bool full = held_bytes_ >= kMaxHeldBytes || bytes.value_or(1) <= 0;
  if (wanted == 0 || (full && !idle)) return std::nullopt;
  const std::set<WorkKey>& work = free_work_.empty() ? a.work : free_work_;
  if (work.empty()) return std::nullopt;
  const uint32_t number = work.rbegin()->second;
  Unfile(number);
  auto part = FirstPart(number);
  if (!part.ok()) {
    File(number);
    return part.status();
  }
  Partition& p = partitions_[number];
  const size_t urls = Fitting(*part, wanted, bytes, idle);
  if (urls == 0) {
    p.waiting.push_back(*part);
    File(number);
    return std::nullopt;
  }
  p.holder = agent;
  ++p.lent_parts;
  Lease lease = LendPart(agent, *part, urls);
  File(number);
  return lease;
}

// How many of its first URLs without a record fit; `any`: one does, whatever its length.
size_t LeaseBook::Fitting(PartIterator part, size_t wanted, std::optional<int64_t> bytes,
                          bool any) const {
  if (!bytes) return wanted;
  size_t urls = 0;
  int64_t left = *bytes;
  for (const uint32_t e : part->entries) {
    if (urls == wanted) break;
    if (recorded_.Contains(part->chunk->indices[e])) continue;
    left -= static_cast<int64_t>(UrlCost(part->chunk->Url(e).size()));
    if (left < 0 && !(any && urls == 0)) break;
    ++urls;
  }
  return urls;
}

// Leaves in `part` what has no record, at most `wanted`; the rest waits as a part of its own.
void LeaseBook::SplitPart(PartIterator part, size_t wanted) {
  auto& entries = part->entries;
  std::erase_if(entries, [&](uint32_t e) { return recorded_.Contains(part->chunk->indices[e]); });
  if (entries.size() <= wanted) return;
  Part rest;
  rest.chunk = part->chunk;
  rest.past_agents = part->past_agents;
  rest.entries.assign(entries.begin() + static_cast<ptrdiff_t>(wanted), entries.end());
  rest.left = static_cast<uint32_t>(rest.entries.size());
  entries.resize(wanted);
  part->left = static_cast<uint32_t>(wanted);
  const PartIterator it = parts_.insert(parts_.end(), std::move(rest));
  for (const uint32_t e : it->entries) places_[it->chunk->indices[e]] = {it, e};
  held_bytes_ +=
      it->chunk->Bytes();  // counted twice while both parts keep the chunk: on the safe side
  partitions_[it->chunk->partition].waiting.push_back(it);
}

Lease LeaseBook::LendPart(AgentIndex agent, PartIterator part, size_t wanted) {
  SplitPart(part, wanted);
  part->lease = next_lease_++;
  part->agent = agent;
  agents_[agent].leases[part->lease] = part;
  agents_[agent].lent_urls += part->left;
  counts_.waiting -= part->left;
  counts_.lent += part->left;
  if (!part->past_agents.empty()) counts_.lent_again += part->left;
  return Lease{part->lease, part->chunk, part->entries};
}

Accepted LeaseBook::Accept(AgentIndex agent, uint64_t index) {
  if (index >= counts_.total) {
    ++counts_.unknown;
    return {};
  }
  if (recorded_.Contains(index)) {
    ++counts_.duplicates;
    return {Verdict::kDuplicate, {}};
  }
  const auto place = places_.find(index);
  if (place == places_.end()) {
    ++counts_.unknown;
    return {};
  }
  const auto [part, entry] = place->second;
  const auto& past = part->past_agents;
  if (part->agent != agent && std::find(past.begin(), past.end(), agent) == past.end()) {
    ++counts_.unknown;
    return {};
  }
  recorded_.Add(index);
  places_.erase(place);
  ++counts_.recorded;
  --part->left;
  if (part->lease == 0) {
    --counts_.waiting;
  } else {
    --counts_.lent;
    --agents_[part->agent].lent_urls;
  }
  const std::string_view url = part->chunk->Url(entry);
  if (part->left == 0) {
    last_closed_ = part->chunk;
    ClosePart(part);
  }
  return {Verdict::kFirst, url};
}

void LeaseBook::ReleaseHold(uint32_t partition) {
  Partition& p = partitions_[partition];
  if (--p.lent_parts == 0) p.holder = kNobody;
}

// Every URL of the part has its record.
void LeaseBook::ClosePart(PartIterator part) {
  const uint32_t number = part->chunk->partition;
  Unfile(number);
  if (part->lease != 0) {
    agents_[part->agent].leases.erase(part->lease);
    ReleaseHold(number);
  } else {
    std::erase(partitions_[number].waiting, part);
  }
  held_bytes_ -= part->chunk->Bytes();
  parts_.erase(part);
  File(number);
}

void LeaseBook::TakeBack(PartIterator part) {
  const uint32_t number = part->chunk->partition;
  Unfile(number);
  agents_[part->agent].lent_urls -= part->left;
  agents_[part->agent].taken_back += part->left;
  counts_.lent -= part->left;
  counts_.waiting += part->left;
  counts_.taken_back += part->left;
  auto& past = part->past_agents;
  if (std::find(past.begin(), past.end(), part->agent) == past.end()) past.push_back(part->agent);
  part->lease = 0;
  part->agent = kNobody;
  ReleaseHold(number);
  partitions_[number].waiting.push_back(part);
  File(number);
}

void LeaseBook::TakeBackAll(AgentIndex agent) {
  const auto leases = std::exchange(agents_[agent].leases, {});
  for (const auto& [id, part] : leases) TakeBack(part);
}

void LeaseBook::AgentAway(AgentIndex agent, SteadyTime now) {
  Agent& a = agents_[agent];
  if (!a.away_since) a.away_since = now;
}

void LeaseBook::AgentBack(AgentIndex agent, const absl::flat_hash_set<uint64_t>& held) {
  Agent& a = agents_[agent];
  a.away_since.reset();
  a.expired = false;
  std::vector<PartIterator> lost;
  for (const auto& [id, part] : a.leases) {
    if (!held.contains(id)) lost.push_back(part);
  }
  for (const PartIterator part : lost) {
    a.leases.erase(part->lease);
    TakeBack(part);
  }
}

void LeaseBook::AgentGone(AgentIndex agent) {
  agents_[agent].expired = true;
  TakeBackAll(agent);
}

std::vector<AgentIndex> LeaseBook::Tick(SteadyTime now) {
  std::vector<AgentIndex> expired;
  for (AgentIndex i = 0; i < agents_.size(); ++i) {
    Agent& a = agents_[i];
    if (!a.away_since || a.expired || now - *a.away_since < grace_) continue;
    AgentGone(i);
    expired.push_back(i);
  }
  return expired;
}

}  // namespace fetchbench::coordinator
