#include "coordinator/ui/cursor_guard.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string_view>

namespace fetchbench::coordinator {
namespace {

constexpr std::string_view kRestore = "\r\x1b[J\x1b[0m\x1b[?7h\x1b[?25h";
constexpr int kDeadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGILL,  SIGABRT,
                           SIGBUS, SIGFPE, SIGSEGV, SIGTERM, SIGALRM};

// A signal handler can be given nothing: this is the one place for it.
std::atomic<int> guarded_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void WriteAll(int fd, std::string_view bytes) {
  const ssize_t ignored = write(fd, bytes.data(), bytes.size());
  static_cast<void>(ignored);  // nothing else can be done here
}

void OnDeadlySignal(int signal) {
  const int saved_errno = errno;
  RestoreTerminalNow();
  errno = saved_errno;
  raise(signal);  // SA_RESETHAND: it is deadly now, as soon as this handler returns
}

void Install(int signal, void (*handler)(int), int flags) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  sigemptyset(&action.sa_mask);
  sigaction(signal, &action, nullptr);
}

void OnSuspend(int signal) {
  const int saved_errno = errno;
  const int fd = guarded_fd.load();
  if (fd >= 0) WriteAll(fd, kRestore);
  Install(signal, SIG_DFL, 0);
  sigset_t this_signal;
  sigset_t before;
  sigemptyset(&this_signal);
  sigaddset(&this_signal, signal);
  raise(signal);
  pthread_sigmask(SIG_UNBLOCK, &this_signal, &before);  // stops here, until SIGCONT
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Install(signal, OnSuspend, SA_RESTART);  // the next frame hides the cursor again
  errno = saved_errno;
}

bool HandledBy(int signal, void (*handler)(int)) {
  struct sigaction current = {};
  return sigaction(signal, nullptr, &current) == 0 && current.sa_handler == handler;
}

}  // namespace

void RestoreTerminalNow() {
  const int fd = guarded_fd.exchange(-1);
  if (fd >= 0) WriteAll(fd, kRestore);
}

CursorGuard::CursorGuard(int fd) {
  guarded_fd.store(fd);
  static const int registered = std::atexit(RestoreTerminalNow);  // once for the process
  static_cast<void>(registered);
  for (const int signal : kDeadly) {
    if (HandledBy(signal, SIG_DFL)) Install(signal, OnDeadlySignal, SA_RESETHAND);
  }
  if (HandledBy(SIGTSTP, SIG_DFL)) Install(SIGTSTP, OnSuspend, SA_RESTART);
}

CursorGuard::~CursorGuard() {
  for (const int signal : kDeadly) {
    if (HandledBy(signal, OnDeadlySignal)) Install(signal, SIG_DFL, 0);
  }
  if (HandledBy(SIGTSTP, OnSuspend)) Install(SIGTSTP, SIG_DFL, 0);
  guarded_fd.store(-1);
}

}  // namespace fetchbench::coordinator
