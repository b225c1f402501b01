#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The DNS wire format (RFC 1035), as far as the origin needs it. Pure.
namespace fetchbench::origin {

enum class Rcode : uint8_t {
  kNoError = 0,
  kFormErr = 1,
  kServfail = 2,
  kNxdomain = 3,
  kNotImp = 4,
  kRefused = 5,
};

inline constexpr uint16_t kTypeA = 1;
inline constexpr uint16_t kClassIn = 1;
inline constexpr size_t kMaxDnsMessage = 65'535;

struct DnsQuery {
  uint16_t id = 0;
  bool recursion_desired = false;
  uint16_t type = 0;
  uint16_t klass = 0;
  std::string name;      // lower case, without the final dot; labels joined with '.'
  std::string question;  // the question as it came, echoed in the reply (letter case included)
};

enum class QueryCheck : uint8_t {
  kOk,
  kDrop,            // no header, or a reply: answering could start a loop
  kFormatError,     // a header, but no single well-formed question
  kNotImplemented,  // not a standard query
};

// Fills `query` as far as it got: id and flags for everything but kDrop.
QueryCheck ParseQuery(std::span<const uint8_t> message, DnsQuery& query);

struct DnsReply {
  Rcode rcode = Rcode::kNoError;
  std::vector<uint32_t> addresses;  // host byte order
  uint32_t ttl_s = 0;
  bool truncated = false;
  bool through_cname = false;  // "cname.<name>" first, which the addresses then belong to
  bool cut = false;            // the last bytes of the answer section are missing
};

std::string EncodeReply(const DnsQuery& query, const DnsReply& reply);

}  // namespace fetchbench::origin
