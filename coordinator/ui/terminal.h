#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// One output descriptor of this process (standard error, standard output), and what it can show.
// Writing never waits: a terminal that was stopped (Ctrl-S) or a pipe that nobody reads takes what
// it can, the rest is kept up to kMaxPendingBytes. Not thread-safe; does not own `fd`.
class Terminal {
 public:
  static constexpr size_t kMaxPendingBytes = 64 * 1024;

  Terminal(int fd, Environment env);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  // A terminal that understands cursor movement: TERM is set and is not "dumb".
  bool can_move_cursor() const { return can_move_cursor_; }

  // Size, colour and character set as they are now: asks the terminal each time, so a resize shows
  // at once. Off a terminal: COLUMNS and LINES, else 80 x 24.
  TextStyle Style() const;

  // Tries to get rid of what is pending; true when nothing is.
  bool Drain();
  // Writes `bytes` after what is pending. False, and nothing kept, when it would exceed
  // kMaxPendingBytes: the caller drops a frame or counts a lost line.
  bool Write(std::string_view bytes);
  // Waits until all is out, `limit` at most.
  bool Flush(std::chrono::milliseconds limit);

 private:
  size_t WriteSome(std::string_view bytes);

  int fd_;
  int own_fd_ = -1;  // a second, non-blocking opening of the terminal; -1: `fd_` is polled instead
  Environment env_;
  bool is_terminal_;
  bool can_move_cursor_;
  std::string pending_;
};

}  // namespace fetchbench::coordinator
