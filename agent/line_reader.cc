#include "agent/line_reader.h"

namespace fetchbench::agent {

void LineReader::Keep(std::string_view piece) {
  if (dropping_) return;
  if (half_.size() + piece.size() > max_line_) {
    dropping_ = true;
    ++oversize_;
    half_ = std::string();  // gives the memory back too
    return;
  }
  half_ += piece;
}

void LineReader::Reset() {
  // A line of megabytes is rare: its buffer is not kept for the next one.
  constexpr size_t kKeepBytes = 64 << 10;
  if (half_.capacity() > kKeepBytes) half_ = std::string();
  half_.clear();
  dropping_ = false;
}

}  // namespace fetchbench::agent
