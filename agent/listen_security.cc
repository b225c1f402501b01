#include "agent/listen_security.h"

#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "common/loopback.h"

namespace fetchbench::agent {
namespace {

constexpr const char* kLoopbackAlone =
    "this agent listens on loopback without TLS, where any user of this host could start "
    "containers and so become root; let it listen on a Unix socket (--listen unix:PATH) or give it "
    "credentials (--credentials DIR, made with `bin/pki host NAME`)";

absl::StatusOr<ListenSecurity> WithCredentials(const std::string& folder) {
  auto credentials = Credentials::Load(folder, Role::kHost);
  if (!credentials.ok()) return credentials.status();
  ListenSecurity security;
  security.credentials = *std::move(credentials);
  return security;
}

}  // namespace

absl::StatusOr<ListenSecurity> SecureListener(const std::string& listen, const std::string& folder,
                                              const std::string& default_folder) {
  if (IsUnixSocket(listen)) {
    if (folder.empty()) return ListenSecurity();
    return absl::InvalidArgumentError(
        fmt::format("--credentials does not go with --listen {}: a Unix socket is guarded by its "
                    "folder, without TLS",
                    listen));
  }
  if (!folder.empty()) return WithCredentials(folder);
  if (StaysOnThisMachine(listen)) {
    ListenSecurity security;
    security.no_containers = kLoopbackAlone;
    return security;
  }
  std::error_code error;
  if (std::filesystem::exists(default_folder, error)) return WithCredentials(default_folder);
  return absl::FailedPreconditionError(fmt::format(
      "--listen {} needs credentials, because whoever can connect can start programs here: make "
      "them with `bin/pki host NAME`, copy the folder that it makes to this host, and name it with "
      "--credentials DIR (without that it is {}); or listen on 127.0.0.1 or unix:PATH",
      listen, default_folder));
}

}  // namespace fetchbench::agent
