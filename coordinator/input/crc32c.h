#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace fetchbench::coordinator {
namespace crc32c_internal {

inline constexpr size_t kSlices = 8;
using Tables = std::array<std::array<uint32_t, 256>, kSlices>;

// Table k: what a byte with k bytes behind it makes of the sum.
constexpr Tables MakeTables() {
  constexpr uint32_t kPolynomial = 0x82f63b78;  // of Castagnoli, its bits reversed
  Tables tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t sum = byte;
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? kPolynomial : 0);
    tables[0][byte] = sum;
  }
  for (size_t k = 1; k < kSlices; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = tables[k - 1][byte];
      tables[k][byte] = (before >> 8) ^ tables[0][before & 0xff];
    }
  }
  return tables;
}

inline constexpr Tables kTables = MakeTables();

}  // namespace crc32c_internal

// The CRC-32C of RFC 3720. Eight bytes a step, which is several times as fast as Boost.CRC's one
// byte a step: a list of 10 million URLs is read and written in no noticeably longer time.
inline uint32_t Crc32c(std::string_view bytes) {
  using crc32c_internal::kSlices;
  using crc32c_internal::kTables;
  const auto byte = [&bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  uint32_t sum = ~uint32_t{0};
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    uint32_t next = 0;
    for (size_t i = 0; i < kSlices; ++i) {
      const uint32_t mixed = i < sizeof(sum) ? byte(i) ^ ((sum >> (8 * i)) & 0xff) : byte(i);
      next ^= kTables[kSlices - 1 - i][mixed];
    }
    sum = next;
  }
  for (size_t i = 0; i < bytes.size(); ++i) sum = (sum >> 8) ^ kTables[0][(sum ^ byte(i)) & 0xff];
  return ~sum;
}

}  // namespace fetchbench::coordinator
