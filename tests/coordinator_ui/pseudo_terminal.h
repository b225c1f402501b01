#pragma once

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string>

#include "coordinator/ui/text_style.h"

namespace fetchbench::coordinator {

// A pseudo-terminal: the program's side is slave(), the person's side is read with Read().
class PseudoTerminal {
 public:
  PseudoTerminal(int width, int height) {
    winsize size = {};
    size.ws_col = static_cast<unsigned short>(width);
    size.ws_row = static_cast<unsigned short>(height);
    if (openpty(&master_, &slave_, nullptr, nullptr, &size) != 0) master_ = slave_ = -1;
    fcntl(master_, F_SETFL, O_NONBLOCK);
  }
  ~PseudoTerminal() {
    close(master_);
    close(slave_);
  }
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  int slave() const { return slave_; }

  void Resize(int width, int height) const {
    winsize size = {};
    size.ws_col = static_cast<unsigned short>(width);
    size.ws_row = static_cast<unsigned short>(height);
    ioctl(master_, TIOCSWINSZ, &size);
  }

  // All that is there now, waiting up to `patience_ms` for the first of it.
  std::string Read(int patience_ms = 2'000) const {
    std::string all;
    std::array<char, 4096> buffer{};
    while (true) {
      pollfd p = {.fd = master_, .events = POLLIN, .revents = 0};
      if (poll(&p, 1, all.empty() ? patience_ms : 20) <= 0) return all;
      const ssize_t n = read(master_, buffer.data(), buffer.size());
      if (n <= 0) return all;
      all.append(buffer.data(), static_cast<size_t>(n));
    }
  }

 private:
  int master_ = -1;
  int slave_ = -1;
};

inline Environment FakeEnvironment(std::map<std::string, std::string> values) {
  return [values = std::move(values)](std::string_view name) -> std::optional<std::string> {
    const auto at = values.find(std::string(name));
    if (at == values.end()) return std::nullopt;
    return at->second;
  };
}

}  // namespace fetchbench::coordinator
