#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "coordinator/input/url_chunk.h"

namespace fetchbench::coordinator::test {

// A spool in memory: partition i holds the indices given, their URLs are
// https://p<i>.example/<index> and a tail.
class MemorySpool {
 public:
  MemorySpool(std::vector<std::vector<uint64_t>> partitions, size_t chunk_urls,
              std::string tail = {})
      : partitions_(std::move(partitions)), chunk_urls_(chunk_urls), tail_(std::move(tail)) {
    for (const auto& partition : partitions_) {
      remaining_.push_back(partition.size());
      total_ += partition.size();
    }
  }

  uint64_t total() const { return total_; }
  const std::vector<uint64_t>& remaining() const { return remaining_; }

  absl::StatusOr<std::shared_ptr<const UrlChunk>> Take(uint32_t partition) {
    auto& left = partitions_[partition];
    if (left.empty()) return nullptr;
    auto chunk = std::make_shared<UrlChunk>();
    chunk->partition = partition;
    const size_t count = std::min(chunk_urls_, left.size());
    for (size_t i = 0; i < count; ++i) {
      chunk->Add(left[i], "https://p" + std::to_string(partition) + ".example/" +
                              std::to_string(left[i]) + tail_);
    }
    left.erase(left.begin(), left.begin() + static_cast<ptrdiff_t>(count));
    return chunk;
  }

 private:
  std::vector<std::vector<uint64_t>> partitions_;
  std::vector<uint64_t> remaining_;
  size_t chunk_urls_;
  std::string tail_;
  uint64_t total_ = 0;
};

}  // namespace fetchbench::coordinator::test
