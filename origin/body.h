#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// Bodies without memory: byte i of every body is byte i % kPatternSize of one fixed pattern, so
// large bodies are written straight out of a constant buffer.
namespace fetchbench::origin {

inline constexpr size_t kPatternSize = size_t{64} * 1024;
inline constexpr size_t kChunkSize = size_t{16} * 1024;

// kPatternSize bytes of printable ASCII, the same in every version.
std::string_view Pattern();

// A body as it is, for Content-Length and close-delimited framing.
class PlainBody {
 public:
  explicit PlainBody(uint64_t size) : left_(size) {}

  bool done() const { return left_ == 0; }
  uint64_t offset() const { return offset_; }  // body bytes given out
  // The next at most `limit` body bytes; what it points to stays.
  std::string_view Next(size_t limit);

 private:
  uint64_t left_;
  uint64_t offset_ = 0;
};

// The same body in chunked coding, with the last chunk.
class ChunkedBody {
 public:
  explicit ChunkedBody(uint64_t size) : left_(size) {}

  bool done() const { return ended_; }
  uint64_t offset() const { return offset_; }
  // Wire bytes of about `limit` body bytes; what it points to stays until the next call.
  std::string_view Next(size_t limit);

 private:
  uint64_t left_;
  uint64_t offset_ = 0;
  bool ended_ = false;
  std::string scratch_;
};

}  // namespace fetchbench::origin
