// Any bytes as the archive of a target's folder; what is taken must not depend on the pieces that
// it comes in. Once as they are and once with every head's sum put right, or hardly any change of a
// head would get past it.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/docker/context_check.h"

namespace {

using fetchbench::docker::ContextCheck;

void Check(std::string_view bytes) {
  ContextCheck whole;
  const bool taken = whole.Feed(bytes).ok() && whole.End().ok();
  ContextCheck pieces;
  bool taken_in_pieces = true;
  constexpr size_t kPiece = 37;
  for (size_t at = 0; at < bytes.size() && taken_in_pieces; at += kPiece) {
    taken_in_pieces = pieces.Feed(bytes.substr(at, kPiece)).ok();
  }
  if (taken != (taken_in_pieces && pieces.End().ok())) std::abort();
}

void PutSumsRight(std::string& bytes) {
  constexpr size_t kBlock = 512;
  for (size_t at = 0; at + kBlock <= bytes.size(); at += kBlock) {
    const std::string_view head = std::string_view(bytes).substr(at, kBlock);
    if (head.find_first_not_of('\0') == std::string_view::npos) continue;
    uint64_t size = 0;
    std::from_chars(head.data() + 124, head.data() + 136, size, 8);
    bytes.replace(at + 148, 8, "        ");
    unsigned sum = 0;
    for (size_t i = at; i < at + kBlock; ++i) sum += static_cast<unsigned char>(bytes[i]);
    bytes.replace(at + 148, 8, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
    at += (std::min<uint64_t>(size, bytes.size()) + kBlock - 1) / kBlock * kBlock;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  Check(bytes);
  PutSumsRight(bytes);
  Check(bytes);
  return 0;
}
