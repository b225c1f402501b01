#pragma once

#include <cstddef>
#include <cstdint>

namespace fetchbench {

// What an agent keeps of a URL beside its text until it is answered: two maps' entries, a slot, a
// string's header and what the allocator adds; 130 to 175 bytes were measured, and up to 16 % of a
// text of 60 kB. Both sides count by it, so it is of the protocol.
inline constexpr uint64_t kUrlCostBytes = 256;

// What a URL counts of Credit.bytes.
constexpr uint64_t UrlCost(size_t text_bytes) { return text_bytes + kUrlCostBytes; }

}  // namespace fetchbench
