#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "common/credentials.h"

namespace fetchbench::agent {

// Who may connect to an agent: with credentials, operators of its fleet, by mutual TLS; without
// them whoever can reach it, which is in order for a Unix socket in a private folder, for any user
// of this host on loopback, and nowhere else.
struct ListenSecurity {
  std::shared_ptr<const Credentials> credentials;  // null: plaintext
  std::string no_containers;                       // why none are run; empty: they are
};

// Where an agent finds its credentials when it is not told.
inline constexpr const char* kDefaultCredentials = "/etc/fetchbench/tls";

// For `listen` as --listen takes it. `folder` is that of --credentials; empty: none was named, and
// `default_folder` is used for what is not on this machine alone, if it is there.
// FailedPrecondition and others: what is missing or wrong, and what to do.
absl::StatusOr<ListenSecurity> SecureListener(const std::string& listen, const std::string& folder,
                                              const std::string& default_folder);

}  // namespace fetchbench::agent
