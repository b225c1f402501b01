#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fetchbench::coordinator {

// All URLs of one host share a partition; a partition is lent to one agent at a time.
inline constexpr uint32_t kPartitions = 4096;

// Some URLs of one partition, in list order: the unit that is spooled and lent. Immutable once
// built.
struct UrlChunk {
  uint32_t partition = 0;
  std::vector<uint64_t> indices;
  std::vector<uint32_t> ends;  // URL i ends here in `text`; it starts where URL i - 1 ends
  std::string text;

  size_t size() const { return indices.size(); }
  size_t Bytes() const { return text.size(); }
  std::string_view Url(size_t i) const {
    const uint32_t begin = i == 0 ? 0 : ends[i - 1];
    return std::string_view(text).substr(begin, ends[i] - begin);
  }
  void Add(uint64_t index, std::string_view url) {
    indices.push_back(index);
    text.append(url);
    ends.push_back(static_cast<uint32_t>(text.size()));
  }
  void Clear() {
    indices.clear();
    ends.clear();
    text.clear();
  }
};

}  // namespace fetchbench::coordinator
