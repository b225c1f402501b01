#include "tests/support/tls_knock.h"

#include <openssl/ssl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <string>

#include "tests/support/raw_http2.h"

namespace fetchbench::testing {
namespace {

using Context = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;
using Session = std::unique_ptr<SSL, decltype(&SSL_free)>;

Reception ReceptionInPlaintext(int fd) {
  const std::string greeting = Http2Greeting();
  send(fd, greeting.data(), greeting.size(), MSG_NOSIGNAL);
  // What a TLS server says of this is an alert of TLS: record type 21.
  constexpr char kAlert = 21;
  char first = 0;
  return recv(fd, &first, 1, 0) == 1 && first != kAlert ? Reception::kWelcome : Reception::kRefused;
}

Reception ReceptionByTls(int fd, const Knock& knock) {
  const Context context(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  if (knock.tls12) {
    SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  } else {
    SSL_CTX_set_min_proto_version(context.get(), TLS1_3_VERSION);
  }
  if (!knock.credentials.empty()) {
    SSL_CTX_use_certificate_chain_file(context.get(), (knock.credentials + "/tls.crt").c_str());
    SSL_CTX_use_PrivateKey_file(context.get(), (knock.credentials + "/tls.key").c_str(),
                                SSL_FILETYPE_PEM);
  }
  constexpr std::array<unsigned char, 3> kAlpn{2, 'h', '2'};
  SSL_CTX_set_alpn_protos(context.get(), kAlpn.data(), kAlpn.size());
  const Session session(SSL_new(context.get()), SSL_free);
  SSL_set_fd(session.get(), fd);
  if (SSL_connect(session.get()) != 1) return Reception::kRefused;
  const std::string greeting = Http2Greeting();
  SSL_write(session.get(), greeting.data(), static_cast<int>(greeting.size()));
  char first = 0;
  return SSL_read(session.get(), &first, 1) == 1 ? Reception::kWelcome : Reception::kRefused;
}

}  // namespace

Reception KnockAt(const std::string& address, const Knock& knock) {
  signal(SIGPIPE, SIG_IGN);  // a server that refuses is gone before we have written all
  const int fd = ConnectTo(address);
  if (fd < 0) return Reception::kNoConnection;
  const Reception reception =
      knock.plaintext ? ReceptionInPlaintext(fd) : ReceptionByTls(fd, knock);
  close(fd);
  return reception;
}

}  // namespace fetchbench::testing
