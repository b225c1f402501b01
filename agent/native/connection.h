#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/native/fetch_control.h"
#include "agent/native/net_types.h"
#include "common/tls_stream.h"

namespace fetchbench::native {

// A connected socket, with TLS or without: steps that never block, and a wait. Stopping the fetch
// closes it. One worker's thread.
class Connection final : public Abortable {
 public:
  using Want = TlsSession::Want;

  Connection(Socket socket, Endpoint remote) : socket_(std::move(socket)), remote_(remote) {}

  void StartTls(TlsSession session);
  Want Handshake(error_code& ec) { return tls_->Handshake(TlsRole::kClient, ec); }

  // A clean end of the peer's data is asio::error::eof.
  Want Read(char* data, size_t size, size_t& n, error_code& ec);
  Want Write(const char* data, size_t size, size_t& n, error_code& ec);

  // Waits until the step that wanted it can be tried again.
  template <typename Token>
  auto Wait(Want want, Token&& token) {
    return socket_.async_wait(want == Want::kRead ? Socket::wait_read : Socket::wait_write,
                              std::forward<Token>(token));
  }

  void Abort() override;

  const Endpoint& remote() const { return remote_; }
  const TlsSession* tls() const { return tls_ ? &*tls_ : nullptr; }
  uint64_t wire_bytes_read() const { return tls_ ? tls_->wire_bytes_read() : plain_bytes_read_; }

  // What to tell of `ec`: the TLS library knows more than its code.
  std::string ErrorText(const error_code& ec) const;

 private:
  Socket socket_;
  Endpoint remote_;
  std::optional<TlsSession> tls_;
  uint64_t plain_bytes_read_ = 0;
};

}  // namespace fetchbench::native
