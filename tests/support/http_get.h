#pragma once

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <string>

namespace fetchbench::test {

// The body that a server on 127.0.0.1 answers to GET; empty when it does not answer with 200. Waits
// ten seconds at most for each piece.
inline std::string HttpGet(uint16_t port, const std::string& path) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval patience{10, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const std::string request = "GET " + path + " HTTP/1.0\r\n\r\n";
  std::string answer;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof(to)) == 0 &&
      send(fd, request.data(), request.size(), MSG_NOSIGNAL) > 0) {
    std::array<char, 4096> piece{};
    ssize_t n = 0;
    while ((n = recv(fd, piece.data(), piece.size(), 0)) > 0) {
      answer.append(piece.data(), static_cast<size_t>(n));
    }
  }
  close(fd);
  const size_t body = answer.find("\r\n\r\n");
  const bool ok = answer.find(" 200 ") < answer.find("\r\n");
  return ok && body != std::string::npos ? answer.substr(body + 4) : "";
}

// The same of a URL such as http://127.0.0.1:1234/metrics.
inline std::string HttpGet(const std::string& url) {
  const size_t colon = url.rfind(':');
  const size_t slash = url.find('/', colon);
  return HttpGet(static_cast<uint16_t>(std::stoi(url.substr(colon + 1, slash - colon - 1))),
                 url.substr(slash));
}

}  // namespace fetchbench::test
