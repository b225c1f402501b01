#pragma once

#include <openssl/evp.h>

namespace fetchbench::origin {

// An RSA key of 2,048 bits that everybody can read in the source: enough for the two named
// behaviours that need one, and at hand at once, where making one takes a quarter of a second. The
// caller owns it; null only when OpenSSL is out of memory.
EVP_PKEY* LoadKnownRsaKey();

}  // namespace fetchbench::origin
