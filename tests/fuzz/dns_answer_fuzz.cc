// A DNS answer through c-ares' parser and what is made of it.
#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include "agent/native/address_policy.h"
#include "agent/native/dns_answer.h"
#include "agent/native/error_map.h"

namespace {

using fetchbench::Outcome;
using fetchbench::native::DnsAnswer;
using fetchbench::native::Family;

constexpr size_t kMaxMessage = 65'535;  // of DNS over TCP

void Check(const uint8_t* data, size_t size, Family family) {
  const DnsAnswer answer = fetchbench::native::ParseDnsAnswer(data, static_cast<int>(size), family);
  if (answer.error.failed() != answer.addresses.empty()) std::abort();
  if (answer.ttl.count() < 0) std::abort();
  for (const auto& address : answer.addresses) {
    if (address.is_v4() != (family == Family::kIpv4)) std::abort();
    fetchbench::native::IsPublicAddress(address);
  }
  if (!answer.error) return;
  const Outcome outcome =
      fetchbench::native::OutcomeOf(fetchbench::native::Phase::kDns, answer.error);
  if (outcome != Outcome::kDnsNotFound && outcome != Outcome::kDnsFailure) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  size = std::min(size, kMaxMessage);
  Check(data, size, Family::kIpv4);
  Check(data, size, Family::kIpv6);
  return 0;
}
