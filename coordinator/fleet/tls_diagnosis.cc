#include "coordinator/fleet/tls_diagnosis.h"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "common/fd.h"
#include "common/loopback.h"

namespace fetchbench::coordinator {
namespace {

// Of each step: connecting, and each wait for the agent.
constexpr timeval kPatience{3, 0};
constexpr std::string_view kOwnRefusal = "Custom verification check failed with error: ";

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;
using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

bool IsOwnRefusal(const absl::Status& status) {
  return absl::StrContains(status.message(),
                           absl::string_view(kOwnRefusal.data(), kOwnRefusal.size()));
}

// What Credentials::CheckPeer said of the agent, out of gRPC's message; empty: it said nothing.
std::string OwnRefusal(std::string_view message) {
  const size_t mark = message.find(kOwnRefusal);
  if (mark == std::string_view::npos) return {};
  message.remove_prefix(mark + kOwnRefusal.size());
  // The name of the code comes first.
  const size_t code = message.find(": ");
  if (code != std::string_view::npos) message.remove_prefix(code + 2);
  return std::string(message);
}

// gRPC: "failed to connect to all addresses; last error: UNKNOWN: ipv4:10.0.0.5:7311: WHY". There
// is one address, and who is spoken of is known.
std::string_view WithoutWrapping(std::string_view message) {
  constexpr std::string_view kWrapping = "last error: ";
  const size_t mark = message.find(kWrapping);
  if (mark == std::string_view::npos) return message;
  std::string_view rest = message.substr(mark + kWrapping.size());
  for (int part = 0; part < 2; ++part) {  // the code, and the address
    const size_t end = rest.find(": ");
    if (end == std::string_view::npos) return message;
    rest.remove_prefix(end + 2);
  }
  return rest;
}

// What gRPC 1.51 says of its own doing, as what the other side did.
std::string InOtherWords(std::string_view message) {
  constexpr std::string_view kSystem = "Failed to connect to remote host: ";  // strerror follows
  if (message == "tcp handshaker shutdown") return "no answer to attempts to connect";
  if (message == "Handshake read failed") return "it takes connections and does not speak";
  if (message.substr(0, kSystem.size()) == kSystem) message.remove_prefix(kSystem.size());
  return std::string(message);
}

// What a failed connect means for whoever operates the agent.
std::string WhyNotConnected(int error) {
  switch (error) {
    case ECONNREFUSED:
      return "connection refused: the host is there, and no agent listens on that port";
    case EINPROGRESS:  // what the time-out of a socket gives
    case ETIMEDOUT:
      return fmt::format("no connection within {} s: is the host up, and the port open to here?",
                         kPatience.tv_sec);
    default:
      return fmt::format("no connection: {}", std::strerror(error));
  }
}

// A connected socket; Unavailable: why there is none.
absl::StatusOr<Fd> Dial(const std::string& address) {
  const std::string host = HostOf(address);
  const std::string port = address.substr(address.rfind(':') + 1);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int looked_up = getaddrinfo(host.c_str(), port.c_str(), &hints, &list);
  if (looked_up != 0) {
    return absl::UnavailableError(
        fmt::format("no address is known for '{}' ({}): `--agents NAME=ADDRESS` or a line of the "
                    "inventory says which it is",
                    host, gai_strerror(looked_up)));
  }
  const Addresses found(list, freeaddrinfo);
  int error = 0;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Fd fd(socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!fd.valid()) continue;
    setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &kPatience, sizeof kPatience);
    setsockopt(fd.get(), SOL_SOCKET, SO_SNDTIMEO, &kPatience, sizeof kPatience);
    if (connect(fd.get(), one->ai_addr, one->ai_addrlen) == 0) return fd;
    error = errno;
  }
  return absl::UnavailableError(WhyNotConnected(error));
}

// Its kernel takes connections, and the agent itself does nothing with them.
std::string WhySilent() {
  return fmt::format(
      "it takes connections and says nothing for {} s: the agent hangs, or its host is overloaded",
      kPatience.tv_sec);
}

bool IsTimeout(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

Context ContextOf(const Credentials& credentials) {
  Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_load_verify_file(context.get(), credentials.CaPath().c_str());
  SSL_CTX_use_certificate_chain_file(context.get(), credentials.CertificatePath().c_str());
  SSL_CTX_use_PrivateKey_file(context.get(), credentials.KeyPath().c_str(), SSL_FILETYPE_PEM);
  constexpr std::array<unsigned char, 3> kAlpn{2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kAlpn.data(), kAlpn.size());
  return context;
}

std::string WhyUnverified(long result,  // NOLINT(google-runtime-int): OpenSSL's
                          const Credentials& credentials) {
  switch (result) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate has expired: `bin/pki renew` makes a new one for it";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is not valid yet: are the clocks right?";
    case X509_V_ERR_INVALID_PURPOSE:
      return "its certificate is not one for servers: an agent needs those of `bin/pki host NAME`";
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return fmt::format("its certificate is not of the CA in {}: it is of another fleet",
                         credentials.CaPath());
    default:
      return fmt::format("its certificate is not valid: {}", X509_verify_cert_error_string(result));
  }
}

// What is wrong between us; empty: nothing was found.
std::string WhyNotByTls(int fd, const Credentials& credentials) {
  const Context context = ContextOf(credentials);
  const Session session(SSL_new(context.get()), SSL_free);
  SSL_set_fd(session.get(), fd);
  ERR_clear_error();
  errno = 0;
  if (SSL_connect(session.get()) == 1) {
    // An agent that takes us speaks first.
    char first = 0;
    if (SSL_read(session.get(), &first, 1) == 1) return {};
    if (IsTimeout(errno)) return WhySilent();
    return fmt::format(
        "it refused the certificate of operator {} (expired, denied, or of another fleet): its log "
        "says why",
        credentials.own().identity.name);
  }
  if (IsTimeout(errno)) return WhySilent();
  const auto verified = SSL_get_verify_result(session.get());
  if (verified != X509_V_OK) return WhyUnverified(verified, credentials);
  const int reason = ERR_GET_REASON(ERR_peek_error());
  if (reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_UNSUPPORTED_PROTOCOL) {
    return "it speaks no TLS 1.3: start it with --credentials DIR, or leave them out here if it "
           "listens on loopback";
  }
  const char* text = ERR_reason_error_string(ERR_peek_error());
  if (text == nullptr) {
    return "it hung up during the TLS handshake: it has too many connections, as its log says "
           "then, or is no agent";
  }
  return fmt::format("the TLS handshake failed: {}", text);
}

// The same for an agent that is dialled in plaintext. We speak as a client would (RFC 9113, 3.4):
// one that waits for a TLS handshake then answers with an alert or hangs up, and only one that
// hangs says nothing. Who hangs up without a word need not know TLS: one that has too many
// connections does so too.
std::string WhyNotInPlaintext(int fd) {
  constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
  constexpr char kTlsAlert = 21;  // RFC 8446, 5.1
  constexpr char kSettings = 0;   // the length of such a frame, which comes first, has three bytes
  send(fd, kPreface.data(), kPreface.size(), MSG_NOSIGNAL);  // what went wrong, recv says
  char first = 0;
  errno = 0;
  const ssize_t received = recv(fd, &first, 1, 0);
  if (received < 0 && IsTimeout(errno)) return WhySilent();
  if (received != 1) {
    return "it hung up without a word: if it was started with --credentials it takes no plaintext, "
           "so name an operator's with --credentials DIR; else it has too many connections, as its "
           "log says then, or is no agent";
  }
  if (first == kSettings) return {};
  if (first != kTlsAlert) {
    return "it answers, and not as an agent does: is that another program's port?";
  }
  return "it takes no plaintext: if it was started with --credentials, name an operator's with "
         "--credentials DIR";
}

}  // namespace

absl::Status ExplainRefusal(const absl::Status& status) {
  if (!absl::IsUnavailable(status)) return status;
  const std::string message(status.message());
  std::string why = OwnRefusal(message);
  if (why.empty()) return absl::UnavailableError(InOtherWords(WithoutWrapping(message)));
  if (why.find(", not of ") != std::string::npos) {
    why += "; `--agents NAME=ADDRESS` says which host is at an address";
  }
  return absl::UnavailableError(why);
}

absl::Status ExplainUnreachable(const AgentEndpoint& endpoint, const absl::Status& status) {
  if (!absl::IsUnavailable(status) || IsUnixSocket(endpoint.address)) return status;
  if (IsOwnRefusal(status)) return ExplainRefusal(status);
  const absl::StatusOr<Fd> fd = Dial(endpoint.address);
  if (!fd.ok()) return fd.status();
  const std::string why = endpoint.credentials ? WhyNotByTls(fd->get(), *endpoint.credentials)
                                               : WhyNotInPlaintext(fd->get());
  ERR_clear_error();
  return why.empty() ? status : absl::UnavailableError(why);
}

}  // namespace fetchbench::coordinator
