#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fetchbench::test {

// Accepts and answers each connection, the first with the first answer, those beyond the last with
// the last, then keeps it open.
class RudeServer {
 public:
  RudeServer(const std::string& path, std::string answer)
      : RudeServer(path, std::vector<std::string>{std::move(answer)}) {}
  RudeServer(const std::string& path, std::vector<std::string> answers)
      : answers_(std::move(answers)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    thread_ = std::thread([this] { Serve(); });
  }
  ~RudeServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    for (const int fd : open_) close(fd);
    close(listener_);
  }
  RudeServer(const RudeServer&) = delete;
  RudeServer& operator=(const RudeServer&) = delete;

 private:
  void Serve() {
    while (true) {
      const int fd = accept(listener_, nullptr, nullptr);
      if (fd < 0) return;
      const std::string& answer = answers_[std::min(open_.size(), answers_.size() - 1)];
      open_.push_back(fd);
      [[maybe_unused]] const ssize_t n = write(fd, answer.data(), answer.size());
    }
  }

  const std::vector<std::string> answers_;
  int listener_ = -1;
  std::vector<int> open_;
  std::thread thread_;
};

}  // namespace fetchbench::test
