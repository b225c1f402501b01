#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fetchbench::test {

// Stands between a client and a Docker Engine, both on Unix sockets, hands everything on, and cuts
// connections off when a test wants it. Many ends of calls look like this to a client: a deadline,
// an Engine that is restarted.
class EngineProxy {
 public:
  EngineProxy(const std::string& path, std::string engine) : engine_(std::move(engine)) {
    const sockaddr_un address = Address(path);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 64), 0);
    accepting_ = std::thread([this] { Accept(); });
  }
  ~EngineProxy() {
    shutdown(listener_, SHUT_RDWR);
    accepting_.join();
    Cut("");
    for (const auto& pair : pairs_) pair->thread.join();
    for (const auto& pair : pairs_) {
      close(pair->client);
      close(pair->engine);
    }
    close(listener_);
  }
  EngineProxy(const EngineProxy&) = delete;
  EngineProxy& operator=(const EngineProxy&) = delete;

  // From here on, calls whose request holds these words are carried out, and their answer never
  // comes. Before the first of them.
  void KeepAnswersTo(std::string words) { unanswered_ = std::move(words); }

  // As if this Engine had no image until one is loaded by way of this proxy. Before the first call.
  void HideImagesUntilOneIsLoaded() { hides_images_ = true; }
  int loads() {
    const std::lock_guard lock(mutex_);
    return loads_;
  }

  // The connections whose request holds these words. How many there were.
  size_t Cut(std::string_view words) {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const auto& pair : pairs_) {
      if (pair->request.find(words) == std::string::npos) continue;
      shutdown(pair->client, SHUT_RDWR);
      shutdown(pair->engine, SHUT_RDWR);
      ++count;
    }
    return count;
  }

 private:
  struct Pair {
    int client = -1;
    int engine = -1;
    std::string request;  // its beginning
    std::thread thread;
  };

  static sockaddr_un Address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    return address;
  }

  void Accept() {
    const sockaddr_un address = Address(engine_);
    while (true) {
      const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (client < 0) return;
      auto pair = std::make_unique<Pair>();
      pair->client = client;
      pair->engine = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
      EXPECT_EQ(connect(pair->engine, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                0);
      const std::lock_guard lock(mutex_);
      Pair* handed_on = pairs_.emplace_back(std::move(pair)).get();
      handed_on->thread = std::thread([this, handed_on] { HandOn(*handed_on); });
    }
  }

  // One side's bytes to the other; false at their end.
  bool Move(Pair& pair, int from, int to) {
    std::array<char, 64 << 10> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    const ssize_t n = read(from, bytes.data(), bytes.size());
    if (n <= 0) {
      shutdown(to, SHUT_WR);
      return false;
    }
    const std::string_view got(bytes.data(), static_cast<size_t>(n));
    if (from == pair.engine && !unanswered_.empty() &&
        pair.request.find(unanswered_) != std::string::npos) {
      shutdown(pair.client, SHUT_RDWR);
      return false;
    }
    if (from == pair.client && pair.request.size() < kRequestBytes) {
      const std::lock_guard lock(mutex_);
      const bool first = pair.request.empty();
      pair.request += got.substr(0, kRequestBytes);
      const std::string line = pair.request.substr(0, pair.request.find('\r'));
      if (first && line.find("/images/load") != std::string::npos) ++loads_;
      if (hides_images_ && loads_ == 0 && line.find("/images/") != std::string::npos) {
        constexpr std::string_view kNone =
            "HTTP/1.1 404 Not Found\r\nContent-Length: 27\r\nConnection: close\r\n\r\n"
            "{\"message\":\"No such image\"}";
        send(pair.client, kNone.data(), kNone.size(), MSG_NOSIGNAL);
        return false;
      }
    }
    return send(to, got.data(), got.size(), MSG_NOSIGNAL) == n;
  }

  void HandOn(Pair& pair) {
    std::array<pollfd, 2> ends{pollfd{pair.client, POLLIN, 0}, pollfd{pair.engine, POLLIN, 0}};
    while (ends[0].fd >= 0 || ends[1].fd >= 0) {
      if (poll(ends.data(), ends.size(), -1) < 0) return;
      for (size_t i = 0; i < ends.size(); ++i) {
        if (ends.at(i).fd < 0 || ends.at(i).revents == 0) continue;
        const int other = i == 0 ? pair.engine : pair.client;
        if (!Move(pair, ends.at(i).fd, other)) ends.at(i).fd = -1;
      }
    }
    // As the Engine does it; the descriptors themselves are closed at the end.
    shutdown(pair.client, SHUT_RDWR);
    shutdown(pair.engine, SHUT_RDWR);
  }

  static constexpr size_t kRequestBytes = 1'024;

  const std::string engine_;
  std::string unanswered_;
  bool hides_images_ = false;
  int loads_ = 0;
  int listener_ = -1;
  std::thread accepting_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Pair>> pairs_;
};

}  // namespace fetchbench::test
