#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace fetchbench::native {

// Cuts a byte stream into lines: without their CRLF or LF, blank lines and a byte order mark at the
// start left out, the last line with or without a newline. Lines longer than kMaxLine are cut there
// (a URL so long is invalid anyway), so memory is bounded. Pure.
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 4 * 1024 * 1024;

  // Calls `take(std::string)` for each line that is complete; stops early when it returns false.
  template <typename Take>
  bool Feed(std::string_view bytes, Take&& take) {
    while (!bytes.empty()) {
      const size_t lf = bytes.find('\n');
      Append(bytes.substr(0, lf));
      if (lf == std::string_view::npos) return true;
      bytes.remove_prefix(lf + 1);
      if (!Emit(take)) return false;
    }
    return true;
  }

  template <typename Take>
  bool Finish(Take&& take) {
    return Emit(take);
  }

 private:
  void Append(std::string_view bytes) { line_ += bytes.substr(0, kMaxLine - line_.size()); }

  template <typename Take>
  bool Emit(Take& take) {
    std::string line = std::exchange(line_, {});
    if (std::exchange(first_, false) && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t\r") == std::string::npos) return true;
    return take(std::move(line));
  }

  std::string line_;
  bool first_ = true;
};

}  // namespace fetchbench::native
