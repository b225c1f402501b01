#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

// What one host of the simulated web does, phase by phase. Plain data: made by PlanHost() from a
// profile, or written down by hand for a named behaviour, and carried out by the DNS and HTTP
// servers.
namespace fetchbench::origin {

using Micros = std::chrono::microseconds;

// Where an address that DNS gives leads to. A connect cannot be delayed from user space, so these
// three are all that can happen to it.
enum class AddressKind : uint8_t {
  kServing,    // one of the origin's own listeners
  kRefusing,   // nothing listens there: the kernel answers with a reset
  kBlackHole,  // SYNs are dropped: the connect never ends
};

// The addresses of one answer, in the order in which they are given.
struct AddressKinds {
  static constexpr size_t kMax = 4;
  std::array<AddressKind, kMax> kinds{};
  size_t size = 1;

  bool operator==(const AddressKinds&) const = default;
};

inline constexpr AddressKinds kOneServing{{AddressKind::kServing}, 1};
inline constexpr AddressKinds kOneRefusing{{AddressKind::kRefusing}, 1};
inline constexpr AddressKinds kOneBlackHole{{AddressKind::kBlackHole}, 1};
inline constexpr AddressKinds kRefusingThenServing{{AddressKind::kRefusing, AddressKind::kServing},
                                                   2};
inline constexpr AddressKinds kBlackHoleThenServing{
    {AddressKind::kBlackHole, AddressKind::kServing}, 2};

enum class DnsKind : uint8_t {
  kAnswer,     // the addresses
  kEmpty,      // NOERROR without an answer
  kNxdomain,   // RCODE 3
  kServfail,   // RCODE 2
  kRefused,    // RCODE 5
  kSilent,     // no answer at all
  kMalformed,  // a reply with the right id whose answer section is cut in the middle
};

struct DnsPlan {
  DnsKind kind = DnsKind::kAnswer;
  Micros delay{0};  // from the query to the reply
  AddressKinds addresses = kOneServing;
  bool truncate_udp = false;   // over UDP: TC and no answer, so that the client must use TCP
  bool through_cname = false;  // the answer is a CNAME to "cname.<host>" and that name's addresses
  uint32_t ttl_s = 300;

  bool operator==(const DnsPlan&) const = default;
};

enum class CertificateKind : uint8_t {
  kGood,
  kExpired,
  kNotYetValid,
  kWrongHost,       // issued for "wrong-host.invalid"
  kSelfSigned,      // signed by its own key
  kUnknownCa,       // signed by a second CA that nobody is told of
  kCommonNameOnly,  // no alternative name: the host stands in the subject alone
  kRsa,             // good, but with an RSA key
};

enum class TlsVersions : uint8_t { kBoth, kOnly12, kOnly13 };

// Where a handshake breaks. The server knows the host only from the ClientHello, so nothing can
// break before that.
enum class TlsBreak : uint8_t {
  kNone,
  kSilent,            // the ClientHello is read and never answered
  kReset,             // reset instead of a ServerHello
  kClose,             // FIN instead of a ServerHello
  kAlert,             // fatal handshake_failure alert instead of a ServerHello
  kGarbage,           // bytes that are not TLS, then FIN
  kResetAfterFlight,  // reset once the server's first flight is sent
};

struct TlsPlan {
  CertificateKind certificate = CertificateKind::kGood;
  TlsVersions versions = TlsVersions::kBoth;
  TlsBreak breaks = TlsBreak::kNone;
  Micros delay{0};           // from the ClientHello to the server's first flight (or the break)
  bool close_notify = true;  // false: every close of this host's connections is a bare FIN

  bool operator==(const TlsPlan&) const = default;
};

enum class Framing : uint8_t { kContentLength, kChunked, kClose };

enum class HttpBreak : uint8_t {
  kNone,
  kSilent,       // the request is read and never answered
  kReset,        // reset instead of a status line
  kStallInBody,  // half of the body, then nothing more
  kResetInBody,  // half of the body, then a reset
};

// Where an https request for "/" is sent; the place it is sent to answers.
enum class RedirectKind : uint8_t {
  kNone,
  kToHttp,  // http://host/
  kToWww,   // https://www.host/
  kToPath,  // /start
};

struct HttpPlan {
  RedirectKind redirect = RedirectKind::kNone;
  bool upgrade_http = false;            // http://host/ is redirected to https://host/
  HttpBreak breaks = HttpBreak::kNone;  // of the final response
  int status = 200;                     // of the final response
  Framing framing = Framing::kContentLength;
  bool keep_alive = true;
  Micros first_byte{0};           // from the request to the status line, each hop
  uint64_t body_bytes = 0;        // of the final response
  uint64_t bytes_per_second = 0;  // of the body; 0: as fast as the client reads
  uint32_t padding_bytes = 0;     // header bytes beside the necessary ones

  bool operator==(const HttpPlan&) const = default;
};

struct HostPlan {
  DnsPlan dns;
  TlsPlan tls;
  HttpPlan http;

  bool operator==(const HostPlan&) const = default;
};

}  // namespace fetchbench::origin
