#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace fetchbench {

// What a certificate of a fleet entitles to. A host runs an agent; an operator drives agents.
enum class Role { kHost, kOperator };
std::string_view RoleName(Role role);  // "host", "operator"

// Who a certificate speaks for: its subject alternative name fetchbench://FLEET/ROLE/NAME.
struct Identity {
  std::string fleet;
  Role role = Role::kHost;
  std::string name;

  std::string Uri() const;
};
// InvalidArgument: it is none. Pure.
absl::StatusOr<Identity> ParseIdentity(std::string_view uri);

struct Certificate {
  std::string serial;      // upper-case hex as NormalSerial gives it
  int64_t not_before = 0;  // seconds since 1970, UTC
  int64_t not_after = 0;   // the same; not valid after it
  Identity identity;
};

// The first certificate of a PEM text. InvalidArgument: it is none, or has not exactly one
// identity. Any thread.
absl::StatusOr<Certificate> ReadCertificate(const std::string& pem);

// Whether the private key of one PEM text is that of the other's first certificate.
// InvalidArgument: no, or one of them cannot be read. Any thread.
absl::Status CheckKeyOfCertificate(const std::string& key_pem, const std::string& certificate_pem);

// "0a:1B" -> "A1B". Empty: it is no serial number. Pure.
std::string NormalSerial(std::string_view text);

// Whether it is valid at `now` (seconds since 1970). FailedPrecondition says since or from when it
// is not. Pure.
absl::Status CheckValidAt(const Certificate& certificate, int64_t now);

}  // namespace fetchbench
