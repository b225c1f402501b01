#include "tests/support/raw_http2.h"

#include <arpa/inet.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cstdint>

namespace fetchbench::testing {
namespace {

constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
// For a server that neither answers nor ends the connection.
constexpr timeval kPatience{20, 0};

// Of RFC 9113.
enum class Frame : char { kHeaders = 1, kSettings = 4, kContinuation = 9 };

std::string MakeFrame(Frame type, char stream, std::string_view payload) {
  const size_t size = payload.size();
  std::string frame{static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                    static_cast<char>(size), static_cast<char>(type)};
  frame.append(4, '\0');  // no flags, above all not END_HEADERS
  frame += stream;
  return frame.append(payload);
}

// A header "a" of that many bytes, as HPACK writes one that it is not to remember.
std::string LongHeader(size_t bytes) {
  constexpr char kSevenBits = 0x7f;
  std::string field{'\0', '\x01', 'a', kSevenBits};
  size_t rest = bytes - static_cast<size_t>(kSevenBits);
  for (; rest >= 0x80; rest >>= 7) field += static_cast<char>(rest | 0x80);
  field += static_cast<char>(rest);
  return field.append(bytes, 'v');
}

}  // namespace

int ConnectTo(const std::string& address) {
  const size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return fd;
  close(fd);
  return -1;
}

std::string Http2Greeting() { return std::string(kPreface) + MakeFrame(Frame::kSettings, 0, {}); }

RawHttp2::RawHttp2(const std::string& address, const std::string& credentials)
    : fd_(ConnectTo(address)) {
  signal(SIGPIPE, SIG_IGN);  // the TLS library writes without MSG_NOSIGNAL
  if (!credentials.empty()) {
    const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(
        SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
    SSL_CTX_use_certificate_chain_file(context.get(), (credentials + "/tls.crt").c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), (credentials + "/tls.key").c_str(),
                                SSL_FILETYPE_PEM);
    constexpr std::array<unsigned char, 3> kAlpn{2, 'h', '2'};
    SSL_CTX_set_alpn_protos(context.get(), kAlpn.data(), kAlpn.size());
    session_.reset(SSL_new(context.get()));
    SSL_set_fd(session_.get(), fd_);
    if (SSL_connect(session_.get()) != 1) return;  // then nothing can be sent
  }
  Send(Http2Greeting());
}

RawHttp2::~RawHttp2() {
  session_.reset();
  if (fd_ >= 0) close(fd_);
}

bool RawHttp2::Send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = session_
                          ? SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size()))
                          : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

size_t SendEndlessHeaders(RawHttp2& client, size_t most,
                          const std::function<void(size_t)>& before_each) {
  // Below the 16 KiB that a frame, and all headers of a call, may have.
  const std::string header = LongHeader(15'000);
  const std::string further = MakeFrame(Frame::kContinuation, 1, header);
  if (!client.Send(MakeFrame(Frame::kHeaders, 1, header))) return 0;
  size_t sent = 0;
  while (sent < most) {
    before_each(further.size());
    if (!client.Send(further)) break;
    sent += further.size();
  }
  return sent;
}

}  // namespace fetchbench::testing
