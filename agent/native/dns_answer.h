#pragma once

#include "agent/native/dns.h"

namespace fetchbench::native {

// The addresses in an answer's wire format; a malformed one gives an error. Pure.
DnsAnswer ParseDnsAnswer(const unsigned char* data, int size, Family family);

}  // namespace fetchbench::native
