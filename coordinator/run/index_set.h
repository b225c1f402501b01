#pragma once

#include <cstdint>
#include <vector>

namespace fetchbench::coordinator {

// Which of the indices 0 ... size-1 of a run are in: one bit each. Not thread-safe.
class IndexSet {
 public:
  explicit IndexSet(uint64_t size = 0) : size_(size), bits_((size + 63) / 64) {}

  // False: it was in already, or is beyond the size.
  bool Add(uint64_t index) {
    if (index >= size_ || Contains(index)) return false;
    bits_[index / 64] |= uint64_t{1} << (index % 64);
    ++count_;
    return true;
  }
  bool Contains(uint64_t index) const {
    return index < size_ && ((bits_[index / 64] >> (index % 64)) & 1) != 0;
  }
  uint64_t count() const { return count_; }
  uint64_t size() const { return size_; }

 private:
  uint64_t size_;
  uint64_t count_ = 0;
  std::vector<uint64_t> bits_;
};

}  // namespace fetchbench::coordinator
