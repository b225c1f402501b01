#include "common/docker/line_splitter.h"

#include <algorithm>

namespace fetchbench::docker {

void LineSplitter::Keep(std::string_view bytes) {
  line_ += bytes.substr(0, max_line_ - std::min(max_line_, line_.size()));
}

void LineSplitter::Feed(std::string_view bytes,
                        const std::function<void(std::string_view line)>& sink) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    Keep(bytes.substr(0, end));
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    End(sink);
  }
}

void LineSplitter::End(const std::function<void(std::string_view line)>& sink) {
  if (!line_.empty()) sink(line_);
  line_.clear();
}

}  // namespace fetchbench::docker
