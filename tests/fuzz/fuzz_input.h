#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

// Makes choices, numbers and texts of a fuzzer's bytes, from the front on; at their end all are 0
// and empty.
class FuzzInput {
 public:
  FuzzInput(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  size_t left() const { return left_; }

  template <typename T>
  T Any() {
    std::make_unsigned_t<T> value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      value = static_cast<std::make_unsigned_t<T>>((static_cast<uint64_t>(value) << 8) | Byte());
    }
    return static_cast<T>(value);
  }
  bool Choice() { return (Byte() & 1) != 0; }
  // From `low` to `high`, which are at most 65,535 apart.
  int Between(int low, int high) { return low + Any<uint16_t>() % (high - low + 1); }
  // Of up to `most` bytes; its length comes first.
  std::string Text(size_t most) {
    const size_t size = std::min({left_, most, static_cast<size_t>(Any<uint16_t>()) % (most + 1)});
    std::string text(reinterpret_cast<const char*>(data_), std::min(size, left_));
    Skip(text.size());
    return text;
  }

 private:
  uint8_t Byte() {
    if (left_ == 0) return 0;
    const uint8_t byte = *data_;
    Skip(1);
    return byte;
  }
  void Skip(size_t n) {
    data_ += n;
    left_ -= n;
  }

  const uint8_t* data_;
  size_t left_;
};
