#include "agent/url_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace fetchbench::agent {
namespace {

bool IsFeedable(std::string_view url) {
  constexpr std::string_view kLineEnds("\n\r\0", 3);
  return !url.empty() && url.size() <= kMaxUrlBytes &&
         url.find_first_of(kLineEnds) == std::string_view::npos;
}

}  // namespace

absl::Status UrlBook::Add(v1::Lease lease, std::vector<LeasedUrl>& unfeedable) {
  const uint64_t id = lease.lease_id();
  if (lease.index_delta_size() != lease.url_size()) {
    return absl::InvalidArgumentError(fmt::format("lease {}: {} indices but {} URLs", id,
                                                  lease.index_delta_size(), lease.url_size()));
  }
  if (lease.url_size() == 0) return absl::OkStatus();
  if (lease.url_size() > kMaxLeaseUrls) {
    return absl::InvalidArgumentError(
        fmt::format("lease {}: {} URLs, at most {}", id, lease.url_size(), kMaxLeaseUrls));
  }
  if (uncommitted_urls_ + static_cast<uint64_t>(lease.url_size()) > kMaxUncommittedUrls) {
    return absl::ResourceExhaustedError(fmt::format(
        "lease {}: more than {} URLs without an acknowledged record; acknowledge batches", id,
        kMaxUncommittedUrls));
  }
  if (!uncommitted_.try_emplace(id, static_cast<uint64_t>(lease.url_size())).second) {
    return absl::InvalidArgumentError(fmt::format("lease {} is held already", id));
  }
  uncommitted_urls_ += static_cast<uint64_t>(lease.url_size());
  uint64_t index = 0;
  for (int i = 0; i < lease.url_size(); ++i) {
    index += static_cast<uint64_t>(lease.index_delta(i));
    if (index > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return absl::InvalidArgumentError(
          fmt::format("lease {}: entry {} has a negative index", id, i));
    }
    LeasedUrl item{index, id, std::move(*lease.mutable_url(i))};
    if (IsHeld(index)) {
      Commit(id, 1);
    } else if (!IsFeedable(item.url)) {
      unfeedable.push_back(std::move(item));
    } else if (absl::Status s = Keep(std::move(item)); !s.ok()) {
      return s;
    }
  }
  return absl::OkStatus();
}

absl::Status UrlBook::Keep(LeasedUrl item) {
  indices_.insert(item.index);
  held_bytes_ += UrlCost(item.url.size());
  if (held() >= kMaxHeldUrls || held_bytes_ > max_bytes_) {
    return absl::ResourceExhaustedError(
        fmt::format("lease {}: more URLs than an agent holds ({} or {} MiB); send no more than was "
                    "granted by Credit",
                    item.lease_id, kMaxHeldUrls, max_bytes_ >> 20));
  }
  waiting_.push_back(std::move(item));
  return absl::OkStatus();
}

size_t UrlBook::TakeForFeeding(size_t max_urls, size_t max_bytes, int64_t now_us,
                               std::string& lines) {
  size_t taken = 0;
  while (taken < max_urls && lines.size() < max_bytes) {
    std::optional<LeasedUrl> item = NextToOpen();
    if (!item) break;
    lines += item->url;
    lines += '\n';
    Open(*std::move(item), now_us);
    ++taken;
  }
  return taken;
}

std::optional<LeasedUrl> UrlBook::NextToOpen() {
  if (std::optional<LeasedUrl> item = gate_.Next()) return item;
  while (!waiting_.empty()) {
    const bool room = gate_.Enter(waiting_.front().url);
    if (!room && gate_.full()) return std::nullopt;
    LeasedUrl item = std::move(waiting_.front());
    waiting_.pop_front();
    if (room) return item;
    gate_.HoldBack(std::move(item));
  }
  return std::nullopt;
}

void UrlBook::Open(LeasedUrl item, int64_t now_us) {
  uint32_t id = 0;
  if (free_slots_.empty()) {
    id = static_cast<uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    id = free_slots_.back();
    free_slots_.pop_back();
  }
  Slot& slot = slots_[id];
  slot.entry = OpenUrl{std::move(item), now_us};
  slot.next_same = kNone;
  slot.used = true;
  ++open_count_;
  const auto [it, added] = by_url_.try_emplace(slot.entry.leased.url, Chain{id, id});
  if (added) return;
  slots_[it->second.tail].next_same = id;
  it->second.tail = id;
}

std::optional<UrlBook::Closed> UrlBook::Close(std::string_view url) {
  const auto it = by_url_.find(url);
  if (it == by_url_.end()) return std::nullopt;
  const Chain chain = it->second;
  const uint32_t next = slots_[chain.head].next_same;
  by_url_.erase(it);  // its key is a view into the slot that is freed
  if (next != kNone) by_url_.emplace(slots_[next].entry.leased.url, Chain{next, chain.tail});
  const LeasedUrl closed = Free(chain.head);
  return Closed{closed.index, closed.lease_id};
}

LeasedUrl UrlBook::Free(uint32_t id) {
  Slot& slot = slots_[id];
  LeasedUrl leased = std::move(slot.entry.leased);
  slot.used = false;
  free_slots_.push_back(id);
  --open_count_;
  held_bytes_ -= UrlCost(leased.url.size());
  indices_.erase(leased.index);
  gate_.Leave(leased.url);
  return leased;
}

std::vector<OpenUrl> UrlBook::CloseAll() {
  std::vector<OpenUrl> all;
  all.reserve(open_count_);
  by_url_.clear();
  for (uint32_t id = 0; id < slots_.size(); ++id) {
    if (!slots_[id].used) continue;
    const int64_t fed_us = slots_[id].entry.fed_us;
    all.push_back(OpenUrl{Free(id), fed_us});
  }
  std::stable_sort(all.begin(), all.end(), [](const OpenUrl& a, const OpenUrl& b) {
    return std::pair(a.fed_us, a.leased.index) < std::pair(b.fed_us, b.leased.index);
  });
  return all;
}

size_t UrlBook::DropWaiting() {
  const size_t dropped = waiting();
  for (const LeasedUrl& item : waiting_) Forget(item);
  waiting_.clear();
  for (const LeasedUrl& item : gate_.TakeAll()) Forget(item);
  return dropped;
}

void UrlBook::Forget(const LeasedUrl& item) {
  held_bytes_ -= UrlCost(item.url.size());
  indices_.erase(item.index);
}

void UrlBook::Commit(uint64_t lease_id, uint64_t count) {
  const auto it = uncommitted_.find(lease_id);
  if (it == uncommitted_.end()) return;
  const uint64_t done = std::min(it->second, count);
  it->second -= done;
  uncommitted_urls_ -= done;
  if (it->second == 0) uncommitted_.erase(it);
}

std::vector<uint64_t> UrlBook::HeldLeases() const {
  std::vector<uint64_t> ids;
  ids.reserve(uncommitted_.size());
  for (const auto& [id, count] : uncommitted_) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace fetchbench::agent
