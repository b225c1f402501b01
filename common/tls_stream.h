#pragma once

// TLS over a non-blocking TCP socket, without asio::ssl: the TLS library reads and writes the
// socket itself (SSL_set_fd) and Asio only says when to try again. That saves asio::ssl's 69 KiB of
// buffers a connection and one copy of every byte. Only calls that OpenSSL 3 and 4, BoringSSL and
// AWS-LC share are used.
//
// The process must ignore SIGPIPE: the TLS library writes with write(2).

#include <openssl/ssl.h>

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/compose.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/system/error_category.hpp>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

namespace fetchbench {

// What can go wrong beside the socket's own errors (which keep their system codes, such as
// ECONNRESET). A clean end of the peer's data (close_notify) is asio::error::eof.
enum class TlsErrc {
  kTruncated = 1,  // the connection ended without close_notify
  kCertificate,    // the peer's certificate did not verify
  kAlert,          // the peer sent a fatal alert
  kProtocol,       // anything else that the TLS library refused
};

const boost::system::error_category& TlsErrorCategory();
boost::system::error_code make_error_code(TlsErrc code);

enum class TlsRole : uint8_t { kClient, kServer };

// One TLS session on a descriptor that somebody else owns: single steps that never block. Not
// thread-safe; must not outlive the SSL_CTX's last reference elsewhere (it holds one of its own).
class TlsSession {
 public:
  // What a step needs before it can be tried again with the same arguments; kNothing: it is over,
  // and `ec` says how.
  enum class Want : uint8_t { kNothing, kRead, kWrite };

  // Allocation failure leaves a session whose every step fails with kProtocol.
  explicit TlsSession(SSL_CTX* context);

  // Must be called before the first step; the descriptor must be non-blocking.
  void SetDescriptor(int fd);

  Want Handshake(TlsRole role, boost::system::error_code& ec);
  // At least one byte, or an error. `n` bytes were read.
  Want Read(void* data, size_t size, size_t& n, boost::system::error_code& ec);
  // May write less than `size`. A retry must pass the same bytes, perhaps at another address.
  Want Write(const void* data, size_t size, size_t& n, boost::system::error_code& ec);
  // Sends close_notify and does not wait for the peer's.
  Want Shutdown(boost::system::error_code& ec);

  // What the TLS library said about the last error, for people: "certificate has expired (10)",
  // "alert 40: sslv3 alert handshake failure". Empty when there was none.
  const std::string& error_text() const { return error_text_; }

  // Bytes that the TLS library took from and gave to the socket, framing included.
  uint64_t wire_bytes_read() const;
  uint64_t wire_bytes_written() const;

  SSL* native_handle() const { return ssl_.get(); }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };

  Want Result(int result, int saved_errno, boost::system::error_code& ec);
  void ClassifySslError(boost::system::error_code& ec);

  std::unique_ptr<SSL, Free> ssl_;
  std::string error_text_;
};

// Models Asio's AsyncReadStream and AsyncWriteStream, so Asio's and Beast's composed operations
// work on it. At most one read and one write in flight; used from the socket's executor only; must
// stay where it is while an operation is in flight. Closing the socket ends what is in flight with
// operation_aborted.
template <typename Executor = boost::asio::any_io_executor>
class BasicTlsStream {
 public:
  using next_layer_type = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
  using lowest_layer_type = next_layer_type;
  using executor_type = Executor;
  using error_code = boost::system::error_code;
  using Want = TlsSession::Want;

  // `socket` must be open, and becomes non-blocking.
  BasicTlsStream(next_layer_type socket, SSL_CTX* context)
      : socket_(std::move(socket)), session_(context) {
    error_code ignored;  // fails on a closed socket only; the first step then says so
    socket_.native_non_blocking(true, ignored);
    session_.SetDescriptor(socket_.native_handle());
  }

  executor_type get_executor() noexcept { return socket_.get_executor(); }
  next_layer_type& next_layer() noexcept { return socket_; }
  lowest_layer_type& lowest_layer() noexcept { return socket_; }
  TlsSession& session() noexcept { return session_; }
  SSL* native_handle() noexcept { return session_.native_handle(); }
  const std::string& error_text() const noexcept { return session_.error_text(); }

  // void(error_code, size_t): the size is always 0.
  template <typename Token>
  auto async_handshake(TlsRole role, Token&& token) {
    return Start([role](TlsSession& s, size_t&, error_code& ec) { return s.Handshake(role, ec); },
                 std::forward<Token>(token));
  }

  template <typename Token>
  auto async_shutdown(Token&& token) {
    return Start([](TlsSession& s, size_t&, error_code& ec) { return s.Shutdown(ec); },
                 std::forward<Token>(token));
  }

  template <typename Buffers, typename Token>
  auto async_read_some(const Buffers& buffers, Token&& token) {
    return Start(
        [buffer = FirstOf<boost::asio::mutable_buffer>(buffers)](TlsSession& s, size_t& n,
                                                                 error_code& ec) {
          if (buffer.size() == 0) return Want::kNothing;
          return s.Read(buffer.data(), buffer.size(), n, ec);
        },
        std::forward<Token>(token));
  }

  // Small pieces (a header and the start of a body) go out together as one TLS record.
  template <typename Buffers, typename Token>
  auto async_write_some(const Buffers& buffers, Token&& token) {
    return Start([buffers](TlsSession& s, size_t& n,
                           error_code& ec) { return WriteGathered(s, buffers, n, ec); },
                 std::forward<Token>(token));
  }

 private:
  static constexpr size_t kGatherBytes = 16 * 1024;  // what one TLS record holds

  template <typename Buffer, typename Buffers>
  static Buffer FirstOf(const Buffers& buffers) {
    const auto end = boost::asio::buffer_sequence_end(buffers);
    for (auto it = boost::asio::buffer_sequence_begin(buffers); it != end; ++it) {
      const Buffer buffer(*it);
      if (buffer.size() != 0) return buffer;
    }
    return Buffer();
  }

  template <typename Buffers>
  static Want WriteGathered(TlsSession& session, const Buffers& buffers, size_t& n,
                            error_code& ec) {
    const auto first = FirstOf<boost::asio::const_buffer>(buffers);
    if (first.size() == 0) return Want::kNothing;
    if (first.size() >= kGatherBytes || first.size() == boost::asio::buffer_size(buffers)) {
      return session.Write(first.data(), first.size(), n, ec);
    }
    std::array<unsigned char, kGatherBytes> record;  // NOLINT(*-member-init): filled below
    const size_t size = boost::asio::buffer_copy(boost::asio::buffer(record), buffers);
    return session.Write(record.data(), size, n, ec);
  }

  template <typename Step>
  struct Operation {
    BasicTlsStream& stream;
    Step step;
    bool started = false;
    bool done = false;
    size_t n = 0;
    error_code result = {};

    template <typename Self>
    void operator()(Self& self, error_code ec = {}) {
      if (done) return self.complete(result, n);
      if (ec) return self.complete(ec, 0);
      const Want want = step(stream.session_, n, result);
      if (want == Want::kRead || want == Want::kWrite) {
        started = true;
        stream.socket_.async_wait(
            want == Want::kRead ? next_layer_type::wait_read : next_layer_type::wait_write,
            std::move(self));
        return;
      }
      if (started) return self.complete(result, n);
      // A completion handler never runs inside the call that started the operation.
      done = true;
      boost::asio::post(stream.get_executor(), std::move(self));
    }
  };

  template <typename Step, typename Token>
  auto Start(Step step, Token&& token) {
    return boost::asio::async_compose<Token, void(error_code, size_t)>(
        Operation<Step>{*this, std::move(step)}, token, socket_);
  }

  next_layer_type socket_;
  TlsSession session_;
};

using TlsStream = BasicTlsStream<>;

}  // namespace fetchbench

namespace boost::system {
template <>
struct is_error_code_enum<fetchbench::TlsErrc> : std::true_type {};
}  // namespace boost::system
