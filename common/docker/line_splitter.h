#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace fetchbench::docker {

// Cuts a stream into lines; what goes beyond `max_line` bytes of a line is dropped. Pure.
class LineSplitter {
 public:
  explicit LineSplitter(size_t max_line) : max_line_(max_line) {}
  void Feed(std::string_view bytes, const std::function<void(std::string_view line)>& sink);
  // The last line, when it has no end.
  void End(const std::function<void(std::string_view line)>& sink);

 private:
  void Keep(std::string_view bytes);

  const size_t max_line_;
  std::string line_;
};

}  // namespace fetchbench::docker
