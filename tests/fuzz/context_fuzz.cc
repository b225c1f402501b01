// Any bytes as the archive of a target's folder; what is taken must not depend on the pieces that
// it comes in.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "common/docker/context_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using fetchbench::docker::ContextCheck;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  ContextCheck whole;
  const bool taken = whole.Feed(bytes).ok() && whole.End().ok();
  ContextCheck pieces;
  bool taken_in_pieces = true;
  constexpr size_t kPiece = 37;
  for (size_t at = 0; at < bytes.size() && taken_in_pieces; at += kPiece) {
    taken_in_pieces = pieces.Feed(bytes.substr(at, kPiece)).ok();
  }
  if (taken != (taken_in_pieces && pieces.End().ok())) std::abort();
  return 0;
}
