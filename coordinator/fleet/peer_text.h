#pragma once

#include <google/protobuf/message.h>

#include <cstddef>
#include <cstdint>

namespace fetchbench::coordinator {

// Bounds of what a peer says of itself, which is kept and shown.
inline constexpr size_t kMaxPeerTextBytes = 4 << 10;
inline constexpr size_t kMaxPeerStderrBytes = 64 << 10;  // of a target's last words
inline constexpr int kMaxPeerListEntries = 4'096;
// Numbers are summed up, over the lives of an agent: none may come near 64 bits.
inline constexpr uint64_t kMaxPeerNumber = uint64_t{1} << 53;

// Brings a message of an agent, with all in it, within these bounds: texts and lists are cut,
// control characters become '?' (a terminal would obey them) apart from line ends and tabs, numbers
// are clamped. Not for batches, whose records are checked one by one, nor for lists of numbers.
void BoundPeerMessage(google::protobuf::Message& message);

}  // namespace fetchbench::coordinator
