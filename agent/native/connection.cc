#include "agent/native/connection.h"

#include <sys/socket.h>

#include <cerrno>
#include <utility>

namespace fetchbench::native {
namespace {

// The outcome of a send or recv that returned less than zero.
Connection::Want SystemResult(Connection::Want would_block, error_code& ec) {
  if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return would_block;
  ec.assign(errno, boost::system::system_category());
  return Connection::Want::kNothing;
}

}  // namespace

void Connection::StartTls(TlsSession session) {
  tls_.emplace(std::move(session));
  tls_->SetDescriptor(socket_.native_handle());
}

Connection::Want Connection::Read(char* data, size_t size, size_t& n, error_code& ec) {
  if (tls_) return tls_->Read(data, size, n, ec);
  n = 0;
  ec = {};
  const ssize_t result = recv(socket_.native_handle(), data, size, MSG_DONTWAIT);
  if (result < 0) return SystemResult(Want::kRead, ec);
  if (result == 0) ec = net::error::eof;
  n = static_cast<size_t>(result);
  plain_bytes_read_ += n;
  return Want::kNothing;
}

Connection::Want Connection::Write(const char* data, size_t size, size_t& n, error_code& ec) {
  if (tls_) return tls_->Write(data, size, n, ec);
  n = 0;
  ec = {};
  const ssize_t result = send(socket_.native_handle(), data, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (result < 0) return SystemResult(Want::kWrite, ec);
  n = static_cast<size_t>(result);
  return Want::kNothing;
}

void Connection::Abort() {
  error_code ignored;
  socket_.close(ignored);
}

std::string Connection::ErrorText(const error_code& ec) const {
  if (tls_ && ec.category() == TlsErrorCategory() && !tls_->error_text().empty()) {
    return tls_->error_text();
  }
  return ec.message();
}

}  // namespace fetchbench::native
