#include "common/docker/stream_demux.h"

#include <algorithm>

namespace fetchbench::docker {

bool StreamDemux::ParseHead() {
  if (head_[0] > 2 || head_[1] != 0 || head_[2] != 0 || head_[3] != 0) return false;
  stream_ = static_cast<Stream>(head_[0]);
  left_ = uint32_t{head_[4]} << 24 | uint32_t{head_[5]} << 16 | uint32_t{head_[6]} << 8 |
          uint32_t{head_[7]};
  head_bytes_ = 0;
  return true;
}

bool StreamDemux::Feed(std::string_view bytes, const Sink& sink) {
  while (!broken_ && !bytes.empty()) {
    if (left_ > 0) {
      const std::string_view piece = bytes.substr(0, left_);
      left_ -= static_cast<uint32_t>(piece.size());
      bytes.remove_prefix(piece.size());
      sink(stream_, piece);
      continue;
    }
    const size_t n = std::min(kHeadBytes - head_bytes_, bytes.size());
    std::copy_n(bytes.begin(), n, head_.begin() + static_cast<std::ptrdiff_t>(head_bytes_));
    head_bytes_ += n;
    bytes.remove_prefix(n);
    if (head_bytes_ == kHeadBytes) broken_ = !ParseHead();
  }
  return !broken_;
}

}  // namespace fetchbench::docker
