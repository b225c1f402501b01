#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace fetchbench::testing {

// The server's end of one accepted connection: blocking, on a thread of its own. Ends in a plain
// close when the script returns. Every call is harmless after an error.
class ScriptedConnection {
 public:
  ScriptedConnection(int fd, std::shared_ptr<SSL_CTX> tls);
  ~ScriptedConnection();
  ScriptedConnection(const ScriptedConnection&) = delete;
  ScriptedConnection& operator=(const ScriptedConnection&) = delete;

  // False when the handshake failed. To be called by the script of a TLS server.
  bool Handshake();

  // The next request's header section, or what came before the peer closed.
  std::string ReadRequest();

  void Send(std::string_view bytes);
  bool SendRaw(std::string_view bytes);  // past TLS; false when the peer is gone
  void CloseNotify();
  void Reset();  // RST instead of FIN

  // Sleeps until the peer closes; at most ten seconds.
  void WaitForClose();

 private:
  int fd_;
  std::shared_ptr<SSL_CTX> context_;
  SSL* ssl_ = nullptr;
};

// Listens on 127.0.0.1 (or another address; "::" is every one of IPv4 and IPv6) and plays `script`
// to each connection.
class ScriptedServer {
 public:
  using Script = std::function<void(ScriptedConnection&)>;

  explicit ScriptedServer(Script script, std::shared_ptr<SSL_CTX> tls = nullptr,
                          const std::string& address = "127.0.0.1");
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  uint16_t port() const { return port_; }
  int connections() const { return connections_; }

 private:
  void Accept();

  Script script_;
  std::shared_ptr<SSL_CTX> tls_;
  int listener_;
  uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  std::thread accepter_;
  std::mutex mutex_;
  std::vector<std::thread> threads_;  // guarded by mutex_
};

// A script that answers every connection's first request with `bytes` and closes.
ScriptedServer::Script Answer(std::string bytes);

}  // namespace fetchbench::testing
