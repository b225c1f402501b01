#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace fetchbench::testing {

// A connected socket, which waits 20 s at most for whatever it does; -1: nobody listens.
// `address`: 127.0.0.1:PORT or another IPv4 address.
int ConnectTo(const std::string& address);

// What every HTTP/2 client says first: the preface and an empty SETTINGS frame.
std::string Http2Greeting();

// An HTTP/2 client that says what it is told to, whether that is allowed or not. One thread.
class RawHttp2 {
 public:
  // Connects and greets. `credentials`: the folder of those to show, by TLS; empty: plaintext. It
  // verifies nothing.
  RawHttp2(const std::string& address, const std::string& credentials);
  ~RawHttp2();
  RawHttp2(const RawHttp2&) = delete;
  RawHttp2& operator=(const RawHttp2&) = delete;

  // False: the server hung up, or took nothing for 20 s.
  bool Send(std::string_view bytes);

 private:
  using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

  const int fd_;
  Session session_{nullptr, SSL_free};
};

// Begins a call whose headers never end (CONTINUATION frames, CVE-2023-33953). Returns how many
// bytes the server took, `most` at most: then it had not hung up. `before_each`: called with how
// many bytes are sent next, and may wait.
size_t SendEndlessHeaders(
    RawHttp2& client, size_t most, const std::function<void(size_t)>& before_each = [](size_t) {});

}  // namespace fetchbench::testing
