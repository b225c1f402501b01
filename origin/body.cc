#include "origin/body.h"

#include <fmt/format.h>

#include <algorithm>

namespace fetchbench::origin {
namespace {

static_assert(kPatternSize % kChunkSize == 0);

// Lines of 63 characters that differ from each other, so that a body cut, repeated or shifted by
// less than a pattern can be seen.
std::string MakePattern() {
  constexpr size_t kLine = 64;
  std::string pattern;
  pattern.reserve(kPatternSize);
  for (size_t line = 0; pattern.size() < kPatternSize; ++line) {
    std::string text = fmt::format("<p>{:04} fetchbench origin ", line);
    while (text.size() < kLine - 1) text += static_cast<char>('a' + (line + text.size()) % 26);
    pattern += text + '\n';
  }
  return pattern;
}

// The whole pattern as full chunks, ready to be written.
std::string MakeChunks() {
  std::string chunks;
  for (size_t at = 0; at < kPatternSize; at += kChunkSize) {
    chunks += fmt::format("{:x}\r\n", kChunkSize);
    chunks += Pattern().substr(at, kChunkSize);
    chunks += "\r\n";
  }
  return chunks;
}

}  // namespace

std::string_view Pattern() {
  static const std::string pattern = MakePattern();
  return pattern;
}

std::string_view PlainBody::Next(size_t limit) {
  const size_t at = offset_ % kPatternSize;
  const size_t size = std::min<uint64_t>({limit, kPatternSize - at, left_});
  offset_ += size;
  left_ -= size;
  return Pattern().substr(at, size);
}

std::string_view ChunkedBody::Next(size_t limit) {
  static const std::string chunks = MakeChunks();
  constexpr size_t kChunksPerPattern = kPatternSize / kChunkSize;
  const size_t wire_chunk = chunks.size() / kChunksPerPattern;
  const size_t at = offset_ % kPatternSize;
  const size_t want = std::min<uint64_t>({limit, kPatternSize - at, left_});
  if (want >= kChunkSize && at % kChunkSize == 0) {
    const size_t whole = want / kChunkSize;
    offset_ += whole * kChunkSize;
    left_ -= whole * kChunkSize;
    return std::string_view(chunks).substr(at / kChunkSize * wire_chunk, whole * wire_chunk);
  }
  scratch_.clear();
  const size_t size = std::min(want, kChunkSize - at % kChunkSize);
  if (size > 0) {
    fmt::format_to(std::back_inserter(scratch_), "{:x}\r\n", size);
    scratch_ += Pattern().substr(at, size);
    scratch_ += "\r\n";
  }
  offset_ += size;
  left_ -= size;
  if (left_ == 0) {
    scratch_ += "0\r\n\r\n";
    ended_ = true;
  }
  return scratch_;
}

}  // namespace fetchbench::origin
