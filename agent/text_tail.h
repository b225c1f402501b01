#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace fetchbench::agent {

// The last `limit` bytes of a text, cut at a line's start where there is one. Pure.
class TextTail {
 public:
  explicit TextTail(size_t limit) : limit_(limit) {}

  void Append(std::string_view text) {
    if (text.size() > limit_) text = text.substr(text.size() - limit_);
    text_ += text;
    // Trimmed only at twice the size, so that each byte is moved once.
    if (text_.size() > 2 * limit_) text_.erase(0, text_.size() - limit_);
  }

  std::string Text() const {
    if (text_.size() <= limit_) return text_;
    const std::string_view tail = std::string_view(text_).substr(text_.size() - limit_);
    const size_t newline = tail.find('\n');
    return std::string(newline == std::string_view::npos || newline + 1 == tail.size()
                           ? tail
                           : tail.substr(newline + 1));
  }

 private:
  const size_t limit_;
  std::string text_;
};

}  // namespace fetchbench::agent
