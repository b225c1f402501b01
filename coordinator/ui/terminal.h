#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// One output descriptor of this process (standard error, standard output), and what it can show.
// Writing never waits: a terminal that was stopped (Ctrl-S) or a pipe that nobody reads takes what
// it can, the rest is kept up to kMaxPendingBytes. Not thread-safe; does not own `fd`.
class Terminal {
 public:
  static constexpr size_t kMaxPendingBytes = 256 * 1024;  // a frame of 500 x 200 in colour fits
  static constexpr int kFileWidth = 200;                  // a file wraps nothing: tables in full

  Terminal(int fd, Environment env);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  bool is_terminal() const { return is_terminal_; }
  // A terminal that understands cursor movement: TERM is set and is not "dumb".
  bool can_move_cursor() const { return can_move_cursor_; }
  // Whether the shell has given the terminal to another job: nothing should be drawn then. Changes
  // at any time.
  bool InBackground() const;
  // Where bytes go; for a terminal normally a non-blocking opening of its own.
  int fd() const { return own_fd_ >= 0 ? own_fd_ : fd_; }

  // Size, colour and character set as they are now: asks the terminal each time, so that a resize
  // shows at once. Where there is none to ask: COLUMNS and LINES, else kFileWidth x 24.
  TextStyle Style() const;

  // Writes `bytes` after what is pending. False, and nothing kept, when that would exceed
  // kMaxPendingBytes: the caller drops a frame or counts a lost line. Bytes for a descriptor that
  // is closed or broken are dropped.
  bool Write(std::string_view bytes);
  // Tries to get rid of what is pending; true when nothing is.
  bool Drain();
  // The same, waiting up to `limit`.
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
