#pragma once

#include <string>

namespace fetchbench::testing {

// How a TLS client is received by a server that speaks first, as HTTP/2 servers do.
enum class Reception {
  kRefused,      // the connection ended without a byte of the application's
  kWelcome,      // the application sent something
  kNoConnection  // nobody listens
};

struct Knock {
  std::string credentials;  // folder with tls.crt and tls.key to show; empty: none
  bool tls12 = false;       // offers TLS 1.2 instead of 1.3
  bool plaintext = false;   // an HTTP/2 client that knows no TLS
};

// Connects to 127.0.0.1:PORT or such an address and waits for its answer. It verifies nothing.
Reception KnockAt(const std::string& address, const Knock& knock);

}  // namespace fetchbench::testing
