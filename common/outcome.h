#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace fetchbench {

// The class of a record; the same values as fetchbench.v1.Outcome (asserted in record_codec.cc),
// kept apart from it so that the fetcher needs no protobuf. What each value means is said in
// proto/fetchbench/v1/record.proto.
enum class Outcome : uint8_t {
  kUnspecified = 0,
  kStatus = 1,
  kInvalidUrl = 2,
  kBlockedAddress = 3,
  kDnsNotFound = 4,
  kDnsFailure = 5,
  kDnsTimeout = 6,
  kConnectRefused = 7,
  kConnectUnreachable = 8,
  kConnectTimeout = 9,
  kConnectionReset = 10,
  kTlsHandshake = 11,
  kTlsCertificate = 12,
  kTimeoutBeforeHeaders = 13,
  kTimeoutInBody = 14,
  kResponseMalformed = 15,
  kHeaderTooLarge = 16,
  kBodyTruncated = 17,
  kBodyTooLarge = 18,
  kRedirectLimit = 19,
  kRedirectInvalid = 20,
  kClientError = 21,
  kClientCrashed = 22,
  kCancelled = 23,
};

inline constexpr int kOutcomeCount = 24;

// "status", "dns_not_found" ...: the names used in record lines, run stores and summaries.
std::string_view OutcomeName(Outcome outcome);

std::optional<Outcome> OutcomeFromName(std::string_view name);

}  // namespace fetchbench
