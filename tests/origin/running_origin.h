#pragma once

#include <openssl/ssl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "common/clock.h"
#include "origin/options.h"
#include "origin/origin.h"

namespace fetchbench::origin {

// An origin on a thread of its own with few addresses, for tests with real sockets. Stops when it
// is destroyed.
class RunningOrigin {
 public:
  explicit RunningOrigin(const std::string& profile = "fast");
  ~RunningOrigin();
  RunningOrigin(const RunningOrigin&) = delete;
  RunningOrigin& operator=(const RunningOrigin&) = delete;

  Origin& operator*() { return *origin_; }
  Origin* operator->() { return origin_.get(); }

  // The body of a call to the control endpoint, its status in `status`.
  std::string Control(std::string_view method, std::string_view path, std::string_view body = "",
                      int* status = nullptr);

 private:
  SystemClock clock_;
  std::unique_ptr<Origin> origin_;
  std::thread thread_;
};

// A blocking TCP client, optionally with TLS. Every operation gives up after five seconds, so a
// test fails instead of hanging. Waits are for the peer's answer only.
class Client {
 public:
  enum class End : uint8_t { kOpen, kClosed, kReset, kTimeout };

  // 127.x.y.z in host byte order. Not connected when the connect failed; see connect_errno().
  Client(uint32_t address, uint16_t port, int timeout_ms = 5'000);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int connect_errno() const { return connect_errno_; }

  // TLS as a client that trusts `ca_pem` alone and wants `host`. False: see tls_error().
  // `version`: TLS1_2_VERSION or TLS1_3_VERSION only; 0: both.
  bool StartTls(const std::string& ca_pem, const std::string& host, int version = 0);
  const std::string& tls_error() const { return tls_error_; }
  SSL* ssl() const { return ssl_.get(); }

  bool Send(std::string_view bytes);
  void Reset();  // RST, now
  void FinishSending();

  // Reads until `done` says so or the peer ends; all bytes so far.
  std::string ReadUntil(const std::function<bool(const std::string&)>& done);
  std::string ReadToEnd();
  // Reads one response with Content-Length; bytes behind it stay for the next call.
  std::string ReadResponse();
  End end() const { return end_; }

 private:
  struct FreeSsl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };

  bool ReadMore();

  int fd_ = -1;
  int connect_errno_ = 0;
  std::unique_ptr<SSL_CTX, FreeSsl> context_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  std::string tls_error_;
  std::string pending_;
  End end_ = End::kOpen;
};

std::string GetRequest(std::string_view host, std::string_view target = "/",
                       std::string_view more_headers = "");

// 127.65.0.1 onwards: what RunningOrigin serves on.
inline constexpr uint32_t kServing = 0x7f410001;

}  // namespace fetchbench::origin
