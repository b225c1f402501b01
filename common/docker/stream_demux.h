#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

namespace fetchbench::docker {

// Takes the frames of an attached container apart: an 8-byte head (stream number, three zeros, size
// in big endian), then that many bytes. Holds no content, so memory is bounded whatever the sizes
// say. Pure.
class StreamDemux {
 public:
  enum class Stream : uint8_t { kStdin = 0, kStdout = 1, kStderr = 2 };
  using Sink = std::function<void(Stream stream, std::string_view bytes)>;

  // False from the first head on that is none: what follows cannot be read.
  bool Feed(std::string_view bytes, const Sink& sink);

  // Nothing of a frame is missing.
  bool at_boundary() const { return head_bytes_ == 0 && left_ == 0; }

 private:
  static constexpr size_t kHeadBytes = 8;

  bool ParseHead();

  std::array<unsigned char, kHeadBytes> head_{};
  size_t head_bytes_ = 0;
  uint32_t left_ = 0;  // of the frame's content
  Stream stream_ = Stream::kStdout;
  bool broken_ = false;
};

}  // namespace fetchbench::docker
