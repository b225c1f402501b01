#include "tests/origin/running_origin.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace fetchbench::origin {
namespace {

size_t NumberAfter(const std::string& text, std::string_view name) {
  const size_t at = text.find(name);
  size_t value = 0;
  if (at != std::string::npos) {
    std::from_chars(text.data() + at + name.size(), text.data() + text.size(), value);
  }
  return value;
}

}  // namespace

RunningOrigin::RunningOrigin(const std::string& profile) {
  Options options;
  options.profile = profile;
  options.profiles_dir = FETCHBENCH_DATA_DIR "/profiles";
  options.addresses = 4;
  options.first_address = "127.65.0.1";
  options.max_connections = 500;
  auto origin = Origin::Create(options, clock_);
  if (!origin.ok()) {
    ADD_FAILURE() << origin.status();
    std::abort();  // nothing that follows could make sense
  }
  origin_ = *std::move(origin);
  thread_ = std::thread([this] { origin_->Run(); });
}

RunningOrigin::~RunningOrigin() {
  origin_->Stop();
  thread_.join();
}

std::string RunningOrigin::Control(std::string_view method, std::string_view path,
                                   std::string_view body, int* status) {
  const std::string url = origin_->control_url();
  const auto port = static_cast<uint16_t>(NumberAfter(url, "127.0.0.1:"));
  Client client(INADDR_LOOPBACK, port);
  client.Send(fmt::format("{} {} HTTP/1.1\r\nHost: control\r\nContent-Length: {}\r\n\r\n{}", method,
                          path, body.size(), body));
  const std::string response = client.ReadResponse();
  if (status != nullptr) *status = static_cast<int>(NumberAfter(response, "HTTP/1.1 "));
  const size_t end = response.find("\r\n\r\n");
  return end == std::string::npos ? "" : response.substr(end + 4);
}

Client::Client(uint32_t address, uint16_t port, int timeout_ms)
    : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval limit{timeout_ms / 1000, timeout_ms % 1000 * 1000};
  setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(address);
  to.sin_port = htons(port);
  if (connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) connect_errno_ = errno;
}

Client::~Client() {
  ssl_.reset();
  close(fd_);
}

bool Client::StartTls(const std::string& ca_pem, const std::string& host, int version) {
  context_.reset(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
  BIO* bio = BIO_new_mem_buf(ca_pem.data(), static_cast<int>(ca_pem.size()));
  X509* ca = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), ca);
  X509_free(ca);
  BIO_free(bio);
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context_.get()), X509_V_FLAG_X509_STRICT);
  ssl_.reset(SSL_new(context_.get()));
  if (version != 0) {
    SSL_set_min_proto_version(ssl_.get(), version);
    SSL_set_max_proto_version(ssl_.get(), version);
  }
  if (!host.empty()) {
    SSL_set_tlsext_host_name(ssl_.get(), host.c_str());
    SSL_set1_host(ssl_.get(), host.c_str());
  }
  SSL_set_fd(ssl_.get(), fd_);
  ERR_clear_error();
  errno = 0;
  const int result = SSL_connect(ssl_.get());
  if (result == 1) return true;
  const int error = SSL_get_error(ssl_.get(), result);
  const long verify = SSL_get_verify_result(ssl_.get());
  if (verify != X509_V_OK) {
    tls_error_ = X509_verify_cert_error_string(verify);
  } else if (error == SSL_ERROR_SYSCALL || error == SSL_ERROR_WANT_READ) {
    tls_error_ = errno == EAGAIN ? "timeout" : errno == ECONNRESET ? "reset" : "closed";
  } else {
    const char* reason = ERR_reason_error_string(ERR_peek_error());
    tls_error_ = reason != nullptr ? reason : "unknown";
  }
  return false;
}

bool Client::Send(std::string_view bytes) {
  if (ssl_ != nullptr) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  while (!bytes.empty()) {
    const ssize_t n = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

void Client::Reset() {
  const linger now{1, 0};
  setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  close(fd_);
  fd_ = -1;
}

void Client::FinishSending() { shutdown(fd_, SHUT_WR); }

bool Client::ReadMore() {
  std::array<char, 16'384> buffer{};
  errno = 0;
  const ssize_t n = ssl_ != nullptr
                        ? SSL_read(ssl_.get(), buffer.data(), static_cast<int>(buffer.size()))
                        : recv(fd_, buffer.data(), buffer.size(), 0);
  if (n > 0) {
    pending_.append(buffer.data(), static_cast<size_t>(n));
    return true;
  }
  end_ = errno == EAGAIN ? End::kTimeout : errno == ECONNRESET ? End::kReset : End::kClosed;
  return false;
}

std::string Client::ReadUntil(const std::function<bool(const std::string&)>& done) {
  while (!done(pending_) && ReadMore()) {
  }
  return std::exchange(pending_, {});
}

std::string Client::ReadToEnd() {
  return ReadUntil([](const std::string&) { return false; });
}

std::string Client::ReadResponse() {
  size_t total = 0;
  const auto complete = [&total](const std::string& text) {
    const size_t head = text.find("\r\n\r\n");
    if (head == std::string::npos) return false;
    total = head + 4 + NumberAfter(text, "Content-Length: ");
    return text.size() >= total;
  };
  std::string all = ReadUntil(complete);
  if (total > 0 && all.size() > total) {
    pending_ = all.substr(total);
    all.resize(total);
  }
  return all;
}

std::string GetRequest(std::string_view host, std::string_view target,
                       std::string_view more_headers) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: {}\r\n{}\r\n", target, host, more_headers);
}

}  // namespace fetchbench::origin
