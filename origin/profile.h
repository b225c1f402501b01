#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// A profile: the distributions that the hosts of the simulated web are drawn from. Read from JSON,
// then only looked at. See data/profiles/README.md for the fields.
namespace fetchbench::origin {

// Lognormal, cut to [min, max]; sigma 0 is the constant `median`.
struct Distribution {
  double median = 0;
  double sigma = 0;
  double min = 0;
  double max = 0;

  // The value at quantile u of (0, 1).
  double At(double u) const;
};

// What becomes of a host's final response. The order is part of the format: shares are laid side by
// side in it, so that a host's draw means the same next year.
enum class Fate : uint8_t {
  kNxdomain,
  kServfail,
  kDnsSilent,
  kConnectRefused,
  kConnectBlackHole,
  kCertificateExpired,
  kCertificateWrongHost,
  kCertificateSelfSigned,
  kCertificateUnknownCa,
  kTlsReset,
  kTlsAlert,
  kTlsSilent,
  kResetBeforeHeaders,
  kSilentBeforeHeaders,
  kResetInBody,
  kStallInBody,
};
inline constexpr size_t kFateCount = 16;

// "nxdomain", "connect_black_hole" ...: the names used in profiles.
std::string_view FateName(Fate fate);

struct StatusShare {
  int status = 0;
  double share = 0;
};

struct Profile {
  std::string name;
  std::array<double, kFateCount> fates{};  // shares of all hosts
  std::vector<StatusShare> statuses;       // shares of all hosts, by rising status; the rest is 200

  Distribution dns_delay_ms;
  double dns_truncated = 0;  // shares of all hosts
  double dns_cname = 0;
  double dns_dead_address_first = 0;
  uint32_t dns_ttl_s = 300;

  Distribution tls_delay_ms;
  double tls_only_12 = 0;  // shares of all hosts
  double tls_only_13 = 0;
  double tls_no_close_notify = 0;

  Distribution first_byte_ms;
  double chunked = 0;  // shares of the hosts that answer; the rest announces its length
  double close_delimited = 0;
  double no_keep_alive = 0;
  Distribution padding_bytes;

  double redirect_to_http = 0;  // shares of the hosts that answer
  double redirect_to_www = 0;   // of those of them that are registered domains
  double redirect_to_path = 0;
  double upgrade_http = 0;

  Distribution body_bytes;        // of 2xx
  Distribution error_body_bytes;  // of everything else
  Distribution bytes_per_second;  // max 0: unpaced
  double body_max_ms = 0;         // a slower body is sped up to this; 0: none is

  std::vector<std::string> never_answer;  // sites; with "www." too
  std::string sha256;                     // of the file's bytes, lower-case hexadecimal
};

// `file` is what errors call the text: "FILE: dns.delay_ms.median: must be ...". Unknown fields,
// wrong types and shares that exceed 1 together are InvalidArgument.
absl::StatusOr<Profile> ParseProfile(std::string_view text, std::string_view file);

// `name_or_file`: a file when it holds '/' or ends in ".json", otherwise NAME.json in profiles_dir.
// NotFound lists the names that are there.
absl::StatusOr<Profile> LoadProfile(const std::string& name_or_file,
                                    const std::string& profiles_dir);

}  // namespace fetchbench::origin
