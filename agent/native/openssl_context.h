#pragma once

#include <openssl/ssl.h>

namespace fetchbench::native {

// A new client context. With OpenSSL 3 it lives in a library context of the process that knows only
// the key decoders which certificates need: OpenSSL builds a chain out of all decoders it knows for
// every certificate it reads, which costs more than a signature check. Other libraries, and systems
// whose configuration asks for other providers (FIPS), get an ordinary context. Null: out of
// memory. Thread-safe.
SSL_CTX* NewClientContext();

}  // namespace fetchbench::native
