#include "common/tls_stream.h"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/x509.h>

#include <algorithm>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <limits>

namespace fetchbench {
namespace {

// Boost's category has a non-virtual destructor so that it can be constexpr; nobody deletes ours
// through the base.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class TlsCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "fetchbench.tls"; }
  std::string message(int value) const override {
    switch (static_cast<TlsErrc>(value)) {
      case TlsErrc::kTruncated:
        return "TLS connection ended without close_notify";
      case TlsErrc::kCertificate:
        return "certificate verification failed";
      case TlsErrc::kAlert:
        return "TLS alert received";
      case TlsErrc::kProtocol:
        return "TLS protocol error";
    }
    return "unknown TLS error";
  }
};
#pragma GCC diagnostic pop

// A received alert's error reason is this much above the alert's number, in every library.
constexpr int kAlertOffset = 1000;
constexpr int kAlertLimit = kAlertOffset + 256;

std::string ReasonText(unsigned long error) {  // NOLINT(google-runtime-int): the library's type
  const char* reason = ERR_reason_error_string(error);
  return reason != nullptr ? reason : fmt::format("error {:#x}", error);
}

bool IsUnexpectedEof(unsigned long error) {  // NOLINT(google-runtime-int)
#ifdef SSL_R_UNEXPECTED_EOF_WHILE_READING
  return ERR_GET_LIB(error) == ERR_LIB_SSL &&
         ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
#else
  static_cast<void>(error);
  return false;
#endif
}

int Capped(size_t size) {
  return static_cast<int>(std::min<size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

const boost::system::error_category& TlsErrorCategory() {
  static const TlsCategory category;
  return category;
}

boost::system::error_code make_error_code(TlsErrc code) {
  return {static_cast<int>(code), TlsErrorCategory()};
}

TlsSession::TlsSession(SSL_CTX* context) : ssl_(SSL_new(context)) {
  if (ssl_ == nullptr) {
    error_text_ = ReasonText(ERR_get_error());
    return;
  }
  SSL_set_mode(ssl_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                               SSL_MODE_RELEASE_BUFFERS);
}

void TlsSession::SetDescriptor(int fd) {
  if (ssl_ != nullptr) SSL_set_fd(ssl_.get(), fd);
}

TlsSession::Want TlsSession::Handshake(TlsRole role, boost::system::error_code& ec) {
  if (ssl_ == nullptr) {
    ec = TlsErrc::kProtocol;
    return Want::kNothing;
  }
  ERR_clear_error();
  errno = 0;
  const int result = role == TlsRole::kClient ? SSL_connect(ssl_.get()) : SSL_accept(ssl_.get());
  return Result(result, errno, ec);
}

TlsSession::Want TlsSession::Read(void* data, size_t size, size_t& n,
                                  boost::system::error_code& ec) {
  n = 0;
  if (ssl_ == nullptr) {
    ec = TlsErrc::kProtocol;
    return Want::kNothing;
  }
  ERR_clear_error();
  errno = 0;
  const int result = SSL_read(ssl_.get(), data, Capped(size));
  if (result > 0) {
    n = static_cast<size_t>(result);
    ec = {};
    return Want::kNothing;
  }
  return Result(result, errno, ec);
}

TlsSession::Want TlsSession::Write(const void* data, size_t size, size_t& n,
                                   boost::system::error_code& ec) {
  n = 0;
  if (ssl_ == nullptr) {
    ec = TlsErrc::kProtocol;
    return Want::kNothing;
  }
  ERR_clear_error();
  errno = 0;
  const int result = SSL_write(ssl_.get(), data, Capped(size));
  if (result > 0) {
    n = static_cast<size_t>(result);
    ec = {};
    return Want::kNothing;
  }
  return Result(result, errno, ec);
}

TlsSession::Want TlsSession::Shutdown(boost::system::error_code& ec) {
  if (ssl_ == nullptr) {
    ec = TlsErrc::kProtocol;
    return Want::kNothing;
  }
  ERR_clear_error();
  errno = 0;
  const int result = SSL_shutdown(ssl_.get());
  if (result >= 0) {  // 0: our close_notify is out, the peer's has not come
    ec = {};
    return Want::kNothing;
  }
  return Result(result, errno, ec);
}

uint64_t TlsSession::wire_bytes_read() const {
  return ssl_ == nullptr ? 0 : BIO_number_read(SSL_get_rbio(ssl_.get()));
}

uint64_t TlsSession::wire_bytes_written() const {
  return ssl_ == nullptr ? 0 : BIO_number_written(SSL_get_wbio(ssl_.get()));
}

TlsSession::Want TlsSession::Result(int result, int saved_errno, boost::system::error_code& ec) {
  ec = {};
  if (result > 0) return Want::kNothing;
  switch (SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
      return Want::kRead;
    case SSL_ERROR_WANT_WRITE:
      return Want::kWrite;
    case SSL_ERROR_ZERO_RETURN:
      ec = boost::asio::error::eof;
      return Want::kNothing;
    case SSL_ERROR_SYSCALL:
      if (saved_errno == 0) {
        ec = TlsErrc::kTruncated;
      } else {
        ec.assign(saved_errno, boost::system::system_category());
      }
      error_text_ = ec.message();
      return Want::kNothing;
    default:
      ClassifySslError(ec);
      return Want::kNothing;
  }
}

void TlsSession::ClassifySslError(boost::system::error_code& ec) {
  // The oldest entry may be the reason of the reason ("EVP lib" of a bad signature).
  const auto error = ERR_peek_last_error();
  const int reason = ERR_GET_REASON(error);
  const bool from_ssl = ERR_GET_LIB(error) == ERR_LIB_SSL;
  if (IsUnexpectedEof(error)) {
    ec = TlsErrc::kTruncated;
    error_text_ = ec.message();
  } else if (from_ssl && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    ec = TlsErrc::kCertificate;
    const long verify = SSL_get_verify_result(ssl_.get());  // NOLINT(google-runtime-int)
    error_text_ = fmt::format("{} ({})", X509_verify_cert_error_string(verify), verify);
  } else if (from_ssl && reason >= kAlertOffset && reason < kAlertLimit) {
    ec = TlsErrc::kAlert;
    error_text_ = fmt::format("alert {}: {}", reason - kAlertOffset, ReasonText(error));
  } else {
    ec = TlsErrc::kProtocol;
    error_text_ = ReasonText(error);
  }
  ERR_clear_error();
}

}  // namespace fetchbench
