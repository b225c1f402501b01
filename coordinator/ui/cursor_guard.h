#pragma once

namespace fetchbench::coordinator {

// Shows the cursor again, ends colours and erases the live display of the guard that exists, if
// any; then forgets it. Async-signal-safe: for a handler that ends the process at once.
void RestoreTerminalNow();

// As long as it lives, a process that dies of a signal or calls exit() gives the terminal behind
// `fd` back first, and one that is suspended (Ctrl-Z) gives it back until it goes on. Signals that
// the program handles itself are left alone. At most one at a time; create and destroy it on one
// thread.
class CursorGuard {
 public:
  explicit CursorGuard(int fd);
  ~CursorGuard();
  CursorGuard(const CursorGuard&) = delete;
  CursorGuard& operator=(const CursorGuard&) = delete;
};

}  // namespace fetchbench::coordinator
