#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordinator/input/url_normalize.h"

namespace fetchbench::coordinator {

// Lines of a file, pipe or terminal, one at a time, in fixed memory. Blocking; one thread.
class LineReader {
 public:
  // `fd` and `stop` outlive the reader. When `stop` becomes true, Next fails with Cancelled within
  // 100 ms, even while a pipe has nothing to give.
  LineReader(int fd, const std::atomic<bool>& stop);

  // The next line without its newline; it stays valid until the next call. Empty at the end. Of a
  // line longer than kMaxUrlBytes + kMaxBlanks only that much is returned, enough to see that it is
  // too long; the rest of it is skipped. A byte order mark at the very beginning is skipped.
  absl::StatusOr<std::optional<std::string_view>> Next();

  uint64_t line_number() const {
    return line_number_;
  }  // of the line returned last; 1 is the first

 private:
  static constexpr size_t kMaxBlanks = 1024;
  static constexpr size_t kMaxLine = kMaxUrlBytes + kMaxBlanks;
  static constexpr size_t kBufferBytes = 4 * kMaxLine;

  absl::Status Fill();
  absl::Status SkipRestOfLine();

  int fd_;
  const std::atomic<bool>& stop_;
  std::string buffer_;
  size_t begin_ = 0;    // of what is not returned yet
  size_t scanned_ = 0;  // no newline before this
  size_t end_ = 0;
  bool at_end_ = false;
  uint64_t line_number_ = 0;
};

// Opens a list: a path, or "-" for standard input. The error says what is wrong and what to do. The
// caller closes the descriptor unless it is standard input's.
absl::StatusOr<int> OpenUrlList(const std::string& path);

struct ListCounts {
  uint64_t lines = 0;
  uint64_t urls = 0;  // indices handed out, invalid ones included
  uint64_t invalid = 0;
};

// Called for each entry with its index; an error ends the reading.
using OnUrl = std::function<absl::Status(uint64_t index, const ListLine& line)>;

// Which hosts a list may name. kNames: only such as DNS is asked for, so that whoever answers for
// DNS decides where a client connects; the other URLs become invalid lines.
enum class Hosts : uint8_t { kAll, kNames };

// Reads at most `limit` entries (URLs and invalid lines; each gets the next index, from 0) and
// calls `on_url` for each. A line that is no URL never ends the reading.
absl::StatusOr<ListCounts> ReadUrlList(LineReader& reader, uint64_t limit, Hosts hosts,
                                       const OnUrl& on_url);

}  // namespace fetchbench::coordinator
